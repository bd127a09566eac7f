"""What each repeat is worth, from what it left behind."""

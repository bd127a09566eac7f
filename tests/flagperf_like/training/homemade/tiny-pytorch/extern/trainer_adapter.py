"""What a vendor changes."""

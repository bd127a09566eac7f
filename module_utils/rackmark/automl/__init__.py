"""What the nodes of a search for networks tell each other, and what it adds up to: history, trials, progress."""

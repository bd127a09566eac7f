"""Reads logs: pieces of files, the lines in them that a dialect knows, and the steps that these tell of."""

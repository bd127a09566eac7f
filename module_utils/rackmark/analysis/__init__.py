"""Turns a tree of logs that other tools wrote into the same numbers as those of our own runs."""

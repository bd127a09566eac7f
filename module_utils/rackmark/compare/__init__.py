"""Runs held against each other: side by side, and against a baseline."""

"""Dialects: what the lines of each log format are, one small declaration per format."""

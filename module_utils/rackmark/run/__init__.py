"""A run: what is asked, where it can take place, and its jobs."""

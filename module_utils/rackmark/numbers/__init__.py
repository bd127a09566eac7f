"""Numbers of repeats become numbers of cases: medians, intervals, speedup, and what a summary holds."""

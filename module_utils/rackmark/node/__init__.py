"""What runs on nodes, and what they share with it: the standard library and Python 3.8 are enough."""

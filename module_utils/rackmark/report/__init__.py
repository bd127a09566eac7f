"""Numbers of a run, and what people and programs read of them."""

"""Finding what is wrong with an inventory before any host is touched."""

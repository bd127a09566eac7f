"""What samplers and power meters saw of a run, and the energy that it took."""

"""Nothing that benchmarks need."""

"""Python environments that workloads run in."""

"""Slurm's nodes, jobs, controllers and accounting as metrics for Prometheus."""

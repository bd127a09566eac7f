"""The files in which other programs read a run: JSON, CSV, Prometheus, JUnit, MLPerf, DLPerf."""

"""What only FlagPerf has: its configuration files, the names in them, and its nominal model sizes."""

"""Never started: torchrun is not part of a Python without torch."""

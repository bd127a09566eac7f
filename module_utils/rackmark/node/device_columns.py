"""What is read of an accelerator, the same of every vendor. Memory, temperature and power are in %, degrees C and W.

`energy` are joules by a counter of the device, `errors` are ECC errors that could not be corrected, clocks are in MHz.
"""

from __future__ import annotations

COLUMNS = (
    "utilisation",
    "memory",
    "memory_mb",
    "temperature",
    "power",
    "energy",
    "clock",
    "memory_clock",
    "errors",
)

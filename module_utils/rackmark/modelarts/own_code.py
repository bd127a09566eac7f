"""A workload of ours in the cloud: what its boot file is told of the program that it starts on every card."""

from __future__ import annotations

import json

from ..node.job_record import JobRecord

BOOT = "rackmark_boot.py"
PROGRAM = "RACKMARK_PROGRAM"
# What the boot file puts into the words of the program.
PYTHON, CODE, DATA = "@python", "@code", "@data"


def environments(record: JobRecord, run_dir: str) -> dict[str, str]:
    """The program as it is started here, with names for the places that only the container knows."""
    return {PROGRAM: json.dumps([_word(word, record, f"{run_dir}/code") for word in record.program])}


def _word(word: str, record: JobRecord, code: str) -> str:
    if not word:
        return PYTHON
    if record.dataset and word == record.dataset:
        return DATA
    return CODE + word[len(code) :] if word == code or word.startswith(f"{code}/") else word

"""Telemetry of a job as the report has it."""

from __future__ import annotations

from rackmark.telemetry.repeats import read_run_telemetry
from rackmark.telemetry.result import with_energies
from unit.run_fixture import STARTED, read_run
from unit.telemetry_fixture import (
    BEGIN,
    END,
)

WINDOW = (BEGIN - STARTED, END - STARTED)


def read(run_dir):
    run = read_run(run_dir)
    (seen,) = read_run_telemetry(run_dir, run.manifest, run.judged)
    return seen


def result(run_dir):
    run = read_run(run_dir)
    telemetry = read_run_telemetry(run_dir, run.manifest, run.judged)
    ((judged,), _) = with_energies(run.judged, telemetry)
    return judged.result


def texts(seen):
    return [f"{remark.node}: {remark.text}" for remark in seen.remarks]

"""What the reading of logs needs before it can begin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def loaded_by(module):
    program = f"import sys; import {module}; print(*sorted(sys.modules))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT / "module_utils", capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_plotting_library_is_loaded_where_a_picture_is_drawn(tmp_path):
    assert "matplotlib" not in loaded_by("rackmark.analysis.outcome")
    assert "matplotlib" in loaded_by("rackmark.report.plots")

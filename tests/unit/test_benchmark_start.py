"""What the module benchmark_start says of a run that it has begun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from rackmark.run.run_plan import as_data
from unit.plan_fixture import plan_of

ROOT = Path(__file__).parents[2]


def test_a_folder_without_jobs_is_a_change_and_no_run_that_goes_on(tmp_path):
    """Who interrupts the playbook then would else be told that jobs go on."""
    launch = {"launcher": "modelarts", "python": "python3", "package": ""}
    plan = as_data(plan_of("1n1g"))
    (tmp_path / "r").mkdir()  # the plan of a run reserves its name
    arguments = {"plan": plan, "run_dir": str(tmp_path / "r"), "files": {}, "launch": launch, "submit": False}
    command = [str(Path(sys.executable).with_name("ansible")), "localhost", "-m", "benchmark_start"]
    done = subprocess.run(
        [*command, "-a", json.dumps(arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "r/manifest.json").is_file()
    said = json.loads(done.stdout.partition("=>")[2])
    assert (said["changed"], said["job_ids"], "run_id" in said) == (True, {}, False)

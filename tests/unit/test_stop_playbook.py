"""stop.yml finds out by itself who started a run: Slurm, the launcher of the inventory, or this machine alone."""

from __future__ import annotations

import json

import pytest
from unit.validate_fixture import inventory

RUN = "20261118-101500-resnet50"


@pytest.mark.parametrize("launcher", ["slurm", "ssh"])
def test_a_run_of_the_cluster_is_looked_for_on_the_cluster(validate, launcher):
    of_all = {} if launcher == "slurm" else {"benchmark_launcher": launcher}
    status, output = validate(inventory(of_all), "-e", f"run_id={RUN}", playbook="playbooks/stop.yml")
    assert status != 0
    assert "Find the run to stop" in output
    assert "unreachable=1" in output


def test_a_run_that_this_machine_began_alone_is_looked_for_here(validate, tmp_path):
    folder = tmp_path / "runs" / RUN
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"launcher": "modelarts", "options": {}}))
    given = ["-e", f"run_id={RUN}", "-e", f"benchmark_dir={tmp_path}"]
    status, output = validate(inventory(), *given, playbook="playbooks/stop.yml")
    assert status != 0
    assert "unreachable=0" in output
    assert "unreachable=1" not in output
    assert f"{folder}/manifest.json does not have the schema" in output

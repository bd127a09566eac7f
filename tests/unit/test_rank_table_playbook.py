"""playbooks/rank_table.yml as an operator types it, on the example inventory of two Ascend servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rank_table(tmp_path):
    def rank_table(*arguments, inventory=ROOT / "docs/inventories/ascend.yml"):
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        done = subprocess.run(
            [program, str(ROOT / "playbooks/rank_table.yml"), "-i", str(inventory), *arguments],
            cwd=tmp_path,
            env={
                **os.environ,
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                "PWD": str(tmp_path),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return rank_table


def test_the_inventory_alone_gives_a_table_that_passes_its_own_check(rank_table, tmp_path):
    dest = tmp_path / "job/hccl.json"
    status, output = rank_table("-e", "devices=4-7", "-e", f"dest={dest}", "--check", "--diff")
    assert status == 0, output
    assert '+ "device_ip": "198.51.100.14",' in output
    assert not dest.exists()

    status, output = rank_table("-e", "devices=4-7", "-e", "dest=job/hccl.json")
    assert status == 0, output
    assert "npu2 (node_0001): ranks 4 to 7, devices 4-7" in output
    devices = [device for server in json.loads(dest.read_text())["server_list"] for device in server["device"]]
    assert len({device["device_ip"] for device in devices}) == 8
    assert devices[4] == {"device_id": "4", "device_ip": "198.51.100.24", "rank_id": "4"}
    assert dest.stat().st_mode & 0o777 == 0o644

    status, output = rank_table("-e", "check=job/hccl.json")
    assert status == 0, output
    assert "Form 1.0, the one that all frameworks read: 2 servers, 8 devices." in output
    assert "No problem was found." in output


def test_somebody_elses_broken_table_ends_non_zero_with_all_that_is_wrong(rank_table, tmp_path):
    device = {"device_id": "0", "device_ip": "198.51.100.10", "rank_id": 0}
    servers = [{"server_id": name, "device": [device]} for name in ("one", "two")]
    table = {"version": "1.0", "server_count": "3", "server_list": servers, "status": "completed"}
    (tmp_path / "theirs.json").write_text(json.dumps(table))
    status, output = rank_table("-e", "check=theirs.json")
    assert status == 2, output
    for sentence in (
        "The table says server_count 3, and server_list has 2 servers.",
        'rank_id of device 0 of one is 0 without quotes, and HCCL reads texts only: write "0".',
        "device_ip 198.51.100.10 is that of device 0 of one and device 0 of two; each device has one of its own.",
        "theirs.json is not a table that HCCL would take.",
    ):
        assert sentence in output
    assert "No problem was found" not in output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["form=lab"], "form is not a variable that a playbook knows (-e): did you mean format?"),
        (["check=x.json", "dest=y.json"], "check=x.json reads a table, and these are for writing one: dest."),
        (["source=node"], "source is 'node' (-e): use one of inventory, nodes (did you mean nodes?)."),
        (["nodes=head,npu1"], "head has no ascend_device_addresses"),
    ],
)
def test_a_wrong_command_line_writes_nothing(rank_table, tmp_path, arguments, sentence):
    status, output = rank_table(*(word for argument in arguments for word in ("-e", argument)))
    assert status == 2, output
    assert sentence in output
    assert list(tmp_path.iterdir()) == []


def test_nodes_that_cannot_be_asked_are_named_and_nothing_is_written(rank_table, tmp_path):
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
    away = {"ansible_host": "127.0.0.9", "ansible_port": 9}
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"here": here, "away": away}}}))
    status, output = rank_table("-e", "source=nodes", "-e", "nodes=here,away", inventory=inventory)
    assert status != 0, output
    assert "away did not say the addresses of its devices: see above why it could not be asked." in output
    assert "here has no Ascend device that says its address: is the driver installed?" in output
    assert list(tmp_path.iterdir()) == [inventory]

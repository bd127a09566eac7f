"""What ranks on Ascend devices are told, the rank table of a job, and nodes that are left alone for a while."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest
from lab.engine_fixture import Run
from lab.test_0_engine_preflight import look

# Says the addresses of devices 0 to 3, and that of device 9 to nobody.
HCCN_TOOL = """
import sys
number = int(sys.argv[2])
if number > 3:
    sys.exit("device is not set")
print(f"ipaddr:198.51.100.{10 + number}\\nnetmask:255.255.255.0")
"""
NPU_SMI = """
import sys
words = sys.argv[1:]
if words == ["info", "-m"]:
    print("NPU ID    Chip ID    Chip Logic ID    Chip Phy-ID    Chip Name")
    for number in range(4):
        print(f"{number // 2}         {number % 2}          {number}                {number}              Ascend 910")
    print("0         2          -                -              Mcu")
elif words[:3] == ["info", "-t", "spod-info"]:
    npu, chip = int(words[4]), int(words[6])
    print(f"        SDID                           : {100 + 2 * npu + chip}")
    print("        Super Pod Size                 : 384")
    print("        Super Pod ID                   : 7\\n        Server Index                   : 0")
elif words == ["info", "-l"]:
    print("        Total Count                    : 2")
else:
    sys.exit(1)
"""
NAMES = ("RANK_ID", "RANK_SIZE", "DEVICE_ID", "ASCEND_DEVICE_ID", "DEVICE_INDEX", "JOB_ID")


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    run.training.write_text("import json, os\njson.dump(dict(os.environ), open('told.json', 'w'))\n")
    run.tool("hccn_tool", HCCN_TOOL)
    return run


def devices_in(folder, *numbers):
    (folder / "dev").mkdir()
    for number in numbers:
        (folder / "dev" / f"davinci{number}").touch()
    return str(folder / "dev")


def told(run, *, rank=3, address="node2", **fields):
    """What one of four ranks on two nodes is told."""
    run.record(nodes=2, accelerator="ascend", device="npu", **fields)
    place = ["--rank", str(rank), "--local-rank", str(rank % 2), "--node-rank", str(rank // 2), "--address", address]
    command = [sys.executable, "-SE", str(run.engine / "rank.py"), *place, "--master", "127.0.0.1:20123"]
    subprocess.run(command, cwd=run.folder, env=run.environment, check=True)
    return run.read("told.json")


@pytest.mark.parametrize("form", ["1.0", "1.2", "lab"])
def test_a_rank_with_a_table_is_told_its_place_among_all_of_the_job(run, form):
    (run.folder / "rank_table.json").write_text("{}")
    variables = told(run, rank_table=form)
    assert [variables.get(name) for name in NAMES] == ["3", "4", "1", "1", None, None]
    assert variables["RANK"] == "3"
    assert variables["RANK_TABLE_FILE"] == f"{run.folder}/rank_table.json"
    assert variables.get("MINDSPORE_HCCL_CONFIG_PATH") == (variables["RANK_TABLE_FILE"] if form == "lab" else None)


def test_a_rank_of_tensorflow_is_told_the_name_of_its_pod_as_the_table_has_it(run):
    run.environment["SLURM_JOB_ID"] = "4711"
    variables = told(run, rank_table="tensorflow")
    assert [variables.get(name) for name in NAMES] == ["node2", "4", "1", "1", "3", "4711"]


@pytest.mark.parametrize("meet", ["torch", "mindspore", "hccl"])
def test_hccl_is_told_how_long_to_wait_and_over_which_interface_however_programs_meet(run, meet):
    run.environment["HCCL_CONNECT_TIMEOUT"] = "1200"  # what a person has set stays
    variables = told(run, meet=meet, address="127.0.0.1")
    assert (variables["HCCL_SOCKET_IFNAME"], variables["HCCL_CONNECT_TIMEOUT"]) == ("=lo", "1200")
    del run.environment["HCCL_CONNECT_TIMEOUT"]
    assert told(run, meet=meet)["HCCL_CONNECT_TIMEOUT"] == "600"


def test_ranks_that_negotiate_are_not_told_of_a_table(run):
    variables = told(run, meet="torch", rank_table="off")
    assert {name for name in (*NAMES, "RANK_TABLE_FILE") if name in variables} == set()


def test_a_node_says_the_addresses_of_the_devices_that_a_job_was_given(run, tmp_path):
    run.environment["ASCEND_RT_VISIBLE_DEVICES"] = "1,3"
    dev = devices_in(tmp_path, 0, 1, 2, 3)
    facts, _, _ = look(run, "--dev", dev, accelerator="ascend", ranks=2, nodes=2, rank_table="auto")
    assert facts["device_addresses"] == {"1": "198.51.100.11", "3": "198.51.100.13"}
    assert "super_pod" not in facts


def test_a_node_of_a_super_pod_says_the_place_of_each_device_in_it(run, tmp_path):
    run.tool("npu-smi", NPU_SMI)
    dev = devices_in(tmp_path, 0, 1, 2, 3)
    facts, _, _ = look(run, "--dev", dev, accelerator="ascend", ranks=4, rank_table="1.2")
    assert facts["super_pod"] == {"name": "7", "devices": {"0": "100", "1": "101", "2": "102", "3": "103"}}


def test_no_addresses_are_asked_where_no_table_is_written(run, tmp_path):
    run.tool("hccn_tool", "open('asked', 'w')")
    facts, _, _ = look(run, "--dev", devices_in(tmp_path, 0, 1), accelerator="ascend", ranks=2, nodes=2)
    assert "device_addresses" not in facts
    assert not list(run.folder.parents[3].rglob("asked"))


WRITE = """
import json, sys
from pathlib import Path
from allocation import Allocation
from rackmark.node.job_record import read_record
from rank_table_file import rank_table
nodes, form, facts = json.load(sys.stdin)
job = Allocation("7", Path.cwd(), nodes, read_record(Path.cwd()))
print(json.dumps(rank_table(job, form, facts)))
"""


def written(run, facts, form="1.0", **fields):
    """The table of a job by what its nodes said, and what is wrong with it."""
    run.record(nodes=len(facts), accelerator="ascend", launcher="slurm", **fields)
    done = subprocess.run(
        [sys.executable, "-c", WRITE],
        cwd=run.folder,
        env={**run.environment, "PYTHONPATH": str(run.engine)},
        input=json.dumps([list(facts), form, facts]),
        capture_output=True,
        text=True,
        check=True,
    )
    text, problems = json.loads(done.stdout)
    return (json.loads(text) if text else None), problems


def said_by(nodes, devices=2):
    return {
        f"127.0.1.{node}": {
            "devices": [f"/dev/davinci{number}" for number in range(devices)],
            "device_addresses": {str(number): f"198.51.{node}.{10 + number}" for number in range(devices)},
        }
        for node in nodes
    }


def test_the_table_of_eleven_nodes_has_their_order_though_texts_sort_otherwise(run):
    table, problems = written(run, said_by(range(1, 12)))
    assert problems == []
    names = [server["server_id"] for server in table["server_list"]]
    assert names == sorted(names)
    devices = [device for server in table["server_list"] for device in server["device"]]
    assert [device["rank_id"] for device in devices] == [str(rank) for rank in range(22)]
    assert [device["device_ip"] for device in devices] == [
        f"198.51.{node}.{10 + number}" for node in range(1, 12) for number in range(2)
    ]


def test_an_address_that_nobody_knows_is_named_with_its_node_and_device(run):
    facts = said_by((1, 2))
    del facts["127.0.1.2"]["device_addresses"]["1"]
    table, problems = written(run, facts)
    assert (table, len(problems)) == (None, 1)
    assert problems[0].startswith("127.0.1.2: The address of device 1 is not known")
    assert "site.yml --tags ascend" in problems[0]


def test_an_address_that_two_devices_have_ends_the_job_before_it_starts(run):
    facts = said_by((1, 2))
    facts["127.0.1.2"]["device_addresses"]["1"] = "198.51.1.10"
    table, problems = written(run, facts)
    assert table is None
    assert "198.51.1.10" in problems[0]


def test_an_old_form_is_refused_where_the_texts_of_addresses_sort_otherwise(run):
    table, problems = written(run, said_by((9, 10)), form="lab")
    assert table is None
    assert re.search(r"127\.0\.1\.10.*127\.0\.1\.9|127\.0\.1\.9.*127\.0\.1\.10", problems[0])


def test_a_super_pod_that_no_device_tells_of_is_refused(run):
    table, problems = written(run, said_by((1,)), form="1.2")
    assert table is None
    assert problems == [
        "127.0.1.1: Of devices 0, 1 the super_device_id is not known: 'npu-smi info -t spod-info' does not tell it, as"
        " on nodes that are in no super pod, where -e benchmark_rank_table=1.0 is right."
    ]


STEPS = """
import sys, time
print(f"RACKMARK {time.time()}", flush=True)
sys.exit(7 if "--fail" in sys.argv else 0)
"""
WAITS = "ended badly: this one waits for"


@pytest.fixture
def again(run):
    """Runs the job once more, and says its exit status, what it said, and when its rank began."""
    run.training.write_text(STEPS)

    def again(*behaviour, settle):
        clear(run.folder)
        status = run(*behaviour, devices_per_node=1, settle=settle)
        began = float((run.folder / "rank-0.log").read_text().split()[1])
        return status, run.output, began

    return again


def clear(folder):
    for path in folder.iterdir():
        path.unlink()


def test_a_node_is_left_alone_after_a_job_that_ended_badly_there(again):
    status, _, failed = again("--fail", settle=3)
    assert status == 7
    status, _, began = again(settle=3)
    assert status == 0
    assert began - failed >= 3


def test_who_asks_for_no_rest_does_not_wait_nor_does_who_comes_late_nor_after_a_job_that_ended_well(again):
    again("--fail", settle=600)
    assert WAITS not in again(settle=0)[1]
    again("--fail", settle=1)
    time.sleep(1)
    assert WAITS not in again(settle=1)[1]
    again(settle=1)
    assert WAITS not in again(settle=1)[1]


def test_a_job_that_is_stopped_while_it_waits_ends_at_once(run, again):
    again("--fail", settle=600)
    clear(run.folder)
    job = run.begin(run.command(devices_per_node=1, settle=600))
    said = job.stdout.readline().decode()
    assert WAITS in said
    job.terminate()
    assert job.wait(20) == 143
    assert run.read("end.json")["state"] == "cancelled"
    assert not (run.folder / "rank-0.log").exists()

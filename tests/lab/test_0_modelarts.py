"""Runs in ModelArts from the first command to the report. Swift and an endpoint of our own stand in for the cloud; both
verify every signature, and boot files really run."""

from __future__ import annotations

import os
import signal

import pytest
from lab.cloud_runs import PATIENCE, CloudRuns, command_lines, submitted, writing
from lab.local_runs import ROOT, wait_for
from lab.modelarts.running import stand_in


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with stand_in(tmp_path_factory.mktemp("stand_in") / "servers") as running:
        yield running
        running.order()


def of_sum(total, parts):
    """Numbers that add up to exactly this one, in this order."""
    share = round(total / parts, 3)
    numbers = [share] * (parts - 1)
    last = total - sum(numbers)
    for step in range(-50, 50):
        candidate = last + step * 2.0**-44
        if sum([*numbers, candidate]) == total:
            return [*numbers, candidate]
    raise AssertionError(f"{total} is no sum of {parts} such numbers")


def test_a_run_of_two_cases_and_no_key_anywhere(tmp_path, servers):
    runs = CloudRuns(tmp_path, servers, told={})
    asked = {"cases": "1n8g,2n8g", "repeats": 2}
    since, stored = len(servers.requests()), len(servers.store_requests())
    shown = runs.play(options=["--check"], **asked)
    assert shown.returncode == 0, shown.stdout
    assert "At most 384 device-hours: 4 jobs with 48 devices together" in shown.stdout
    assert '"flavor_id": "modelarts.kat1.8xlarge"' in shown.stdout
    assert '"duration": 8' in shown.stdout
    assert writing(servers.requests()[since:]) == []
    assert writing(servers.store_requests()[stored:]) == []
    assert not list(tmp_path.glob("shared/runs/*"))

    playbook, lines = runs.start(**asked, ansible_verbosity=3), set()
    command_lines(playbook, lines)
    assert playbook.returncode == 0, runs.said()
    summary = runs.summary()
    assert (summary["state"], summary["simulated"], summary["baseline"]) == ("ok", ["modelarts"], "1n8g")
    one, two = summary["cases"]
    assert [run["throughput"] for run in one["runs"]] == [sum(100 + 0.125 * rank for rank in range(8))] * 2
    assert [run["throughput"] for run in two["runs"]] == [sum(100 + 0.125 * rank for rank in range(16))] * 2
    assert (two["speedup"], two["accuracy"]) == (1615.0 / 803.5, 0.75)
    job = runs.jobs()["2n8g/r2"]
    assert [phase["phase"] for phase in job["phases"]][-1] == "Completed"
    assert job["simulated"] == ["modelarts"]
    assert "Simulated in this run: modelarts" in (runs.latest() / "report.md").read_text()
    assert "rank 15 of 16 begins" in (runs.latest() / "cases/2n8g/r1/worker-1.log").read_text()
    left = servers.store().listing(servers.bucket, f"rackmark/{summary['run_id']}/")
    assert [key for key in left if "/code/" in key] == []
    assert any(key.endswith("2n8g/r1/out/throughput_15.json") for key in left)

    secret = servers.secret_key.encode()
    assert [line for line in lines if secret in line] == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if secret in path.read_bytes()] == []


def test_servers_that_train_for_themselves_count_with_their_mean(tmp_path, servers):
    figures = [450.77798444604605, 450.38567065252664]
    rates = [rate for figure in figures for rate in of_sum(figure, 8)]
    runs = CloudRuns(tmp_path, servers, told={"2n8g": {"rates": rates}}, modelarts_single_server=True)
    (runs.code / "ma-pre-start.sh").write_text("export FIRST=1\n")
    done = runs.play(cases="2n8g", repeats=1)
    assert done.returncode == 0, done.stdout
    assert runs.repeats()[0]["throughput"] == 450.58182754928634
    assert (runs.code / "ma-pre-start.sh").read_text() == "export FIRST=1\n"


def test_what_goes_wrong_has_its_state_and_its_sentence(tmp_path, servers):
    told = {"1n4g": {"lacks": 3}, "2n8g": {"fails": 1}}
    runs = CloudRuns(tmp_path, servers, told)
    done = runs.play(cases="1n1g,1n4g,2n8g", repeats=1)
    assert done.returncode != 0
    assert runs.states() == {("1n1g", 1): "ok", ("1n4g", 1): "no_log", ("2n8g", 1): "incomplete"}
    assert "no throughput file of rank 3: there were 4 ranks" in runs.reasons()["1n4g"]
    assert "Worker 1 ended with exit code 3." in runs.reasons()["2n8g"]
    assert "Its last line: the data of server 1 ends here" in runs.reasons()["2n8g"]


def test_a_run_is_taken_over_and_another_is_stopped(tmp_path, servers):
    kept = CloudRuns(tmp_path / "kept", servers, {"1n2g": {"until": str(tmp_path / "enough")}})
    stopped = CloudRuns(tmp_path / "stopped", servers, {"1n2g": {"until": str(tmp_path / "never")}})
    first = kept.begin(cases="1n2g", repeats=2)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before, jobs = submitted(servers), {name: job["job_id"] for name, job in kept.jobs().items()}
    other = stopped.begin(cases="1n2g", repeats=1)
    done = stopped.play("playbooks/stop.yml", run_id=stopped.shared().name)
    assert done.returncode == 0, done.stdout
    assert other.wait(timeout=60) != 0
    assert stopped.states() == {("1n2g", 1): "cancelled"}

    servers.order(phase="Moving")
    again = kept.start(run_id=kept.shared().name)
    wait_for(lambda: "ModelArts says Moving, a phase that is not known here" in kept.said(), seconds=PATIENCE)
    servers.order()
    (tmp_path / "enough").touch()
    assert again.wait(timeout=PATIENCE) == 0, kept.said()
    assert set(kept.states().values()) == {"ok"}
    assert {name: job["job_id"] for name, job in kept.jobs().items()} == jobs
    assert submitted(servers) == before + 1  # of the run that was stopped


def test_an_upload_that_broke_off_goes_on_with_the_rest(tmp_path, servers):
    runs = CloudRuns(tmp_path, servers, told={})
    for number in range(400):
        (runs.code / f"{number}.bin").write_bytes(os.urandom(20_000))
    since = len(servers.store_requests())
    first = runs.start(cases="1n1g", repeats=1)
    wait_for(lambda: len(runs.uploaded(since)) > 240, seconds=PATIENCE)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert len(runs.uploaded(since)) < 402
    again = runs.play(run_id=runs.shared().name)
    assert again.returncode == 0, again.stdout
    assert len(runs.uploaded(since)) == 402, "each was taken once"


def test_our_own_workload_is_told_its_ranks(tmp_path, servers):
    workload = str(ROOT / "tests/workloads/counting")
    runs = CloudRuns(tmp_path, servers, benchmark_workload=workload, preset="lab")
    done = runs.play(cases="2n8g", repeats=1)
    assert done.returncode == 0, done.stdout
    (run,) = runs.repeats()
    assert (run["state"], run["reason"]) == ("ok", None)
    assert 0 < run["throughput"] <= 16 * 4 / 0.05
    starts = [path.read_text() for path in (runs.latest() / "cases/2n8g/r1").glob("rank-*.log")]
    assert len(starts) == 16
    assert runs.jobs()["2n8g/r1"]["request"]["algorithm"]["boot_file"].endswith("/code/rackmark_boot.py")


def test_a_wrong_secret_is_one_sentence(tmp_path, servers):
    runs = CloudRuns(tmp_path, servers, told={})
    runs.keys["HUAWEICLOUD_SDK_SK"] = "wRoNgSeCrEtWrOnGsEcReT"
    done = runs.play(options=["-vvv"], cases="1n1g")
    assert done.returncode != 0
    assert "does not accept the signature" in done.stdout
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert "wRoNgSeCrEtWrOnGsEcReT" not in said
    assert not list(tmp_path.glob("shared/runs/*"))

"""Workers of a search for networks: what they leave, how they end and go on, and what happens when one is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from lab.automl_searches import Search, draw_idx, is_alive, kill
from lab.local_runs import fill
from rackmark.aiperf.experiment import read_experiment

DURATION = 12


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return draw_idx(tmp_path_factory.mktemp("images") / "idx")


@pytest.fixture
def begin(tmp_path, images):
    begun = []

    def search(name="r1", **options):
        begun.append(Search(tmp_path / name, images, **options))
        return begun[-1]

    yield search
    for each in begun:
        each.kill()


def test_a_search_that_is_ended_and_resumed_goes_on_to_its_deadline(begin):
    search = begin(duration=DURATION, epochs=15).start()
    search.wait_for_trial(3)
    search.processes[0].send_signal(signal.SIGTERM)
    assert search.ended() == [0]
    before = search.records()
    assert (before[-1]["event"], before[-1]["state"]) == ("ended", "stopped")
    assert search.events("end") and not search.events("trial")[3:]
    (search.folder / "attempt-1").mkdir()

    trials = search.run()
    assert search.records()[: len(before)] == before
    assert [trial.seq for trial in trials] == list(range(len(trials)))
    assert len({trial.digest for trial in trials}) == len(trials) > 5
    assert {trial.state for trial in trials[:3]} == {"ok"}
    assert [trial.seq for trial in trials if trial.state == "stopped"] == [3, len(trials) - 1]
    assert {trial.attempt for trial in trials[4:]} == {2}

    # Both attempts together searched for the time that was asked for, and no longer.
    clocks = [json.loads((search.experiment / f"attempts/{number}.json").read_text()) for number in (1, 2)]
    searched = before[-1]["time"] - clocks[0]["began"]
    assert clocks[0]["began"] == trials[0].began
    assert clocks[1]["seconds"] == pytest.approx(DURATION - searched, abs=0.001)
    deadline = clocks[1]["began"] + clocks[1]["seconds"]
    assert deadline <= search.records()[-1]["time"] < deadline + 5
    found = read_experiment(search.experiment)
    assert (found.state, found.problems) == ("ok", [])
    epochs = [epoch for training in found.trainings for epoch in training.epochs]
    assert max(epoch.ended for epoch in epochs) <= deadline
    assert len(epochs) == sum(trial.epochs for trial in trials)
    assert max(epoch.accuracy for epoch in epochs) == max(trial.accuracy or 0 for trial in trials) > 0.4
    assert [trial.ended for trial in found.trials] == [trial.state == "ok" for trial in trials]


def test_a_second_search_in_the_folder_of_another_is_refused(begin):
    begin(maxTrialNum=1).run()
    other = begin(maxTrialNum=1, seed=8)
    assert other.start().ended() == [2]
    assert "was begun with seed=7, and 8 was asked for now" in other.said()
    assert len(other.records("began")) == 1


def test_equal_seeds_give_equal_networks_and_others_do_not(begin):
    def found(name, seed):
        trials = begin(name, maxTrialNum=5, seed=seed).run()
        return [(trial.digest, trial.father, trial.hyperparameter, trial.trainings) for trial in trials]

    first = found("first", 7)
    assert len(first[4][3]) == 2  # the second training has TPE's settings
    assert found("again", 7) == first
    other = found("other", 8)
    assert other[0][0] == first[0][0]  # the start network
    assert not {each[0] for each in other[1:]} & {each[0] for each in first[1:]}


def test_killed_workers_lose_one_trial_and_killed_trials_no_more_than_themselves(begin):
    search = begin(stalled_after=4, maxTrialNum=6, warmup_2=15, warmup_3=15, epochs=15, maxTPEsearchNum=1).start()
    search.wait_for_trial(1)
    worker, trial = search.worker_process(), search.trial_process()
    kill(worker)
    search.wait_for(lambda: not is_alive(trial))
    kill(search.wait_for_trial(2))
    os.kill(search.wait_for_trial(3), signal.SIGSTOP)
    kill(search.wait_for_trial(5))
    assert search.ended() == [0]

    trials = search.trials()
    assert [trial.state for trial in trials] == ["ok", "lost", "crashed", "stalled", "ok", "crashed"]
    assert [trial.seq for trial in trials] == list(range(6))
    assert len({trial.digest for trial in trials}) == 6
    assert "was ended by SIGKILL" in trials[2].reason
    assert trials[3].reason == "no step for 4 seconds"
    assert len(search.records("began")) == 2
    assert [event["state"] for event in search.events("trial")] == ["ok", "crashed", "stalled", "ok", "crashed"]
    assert "the worker ended with status 137 and is started again" in search.said()
    found = read_experiment(search.experiment)
    assert (found.state, found.problems) == ("ok", [])


def test_a_worker_that_cannot_live_is_given_up(begin):
    search = begin()
    (search.experiment / "history").mkdir(parents=True)
    (search.experiment / "history/worker-0.jsonl").mkdir()  # where it should write
    assert search.start().ended() == [1]
    assert search.said().count("is started again") == 3
    assert "the worker died 4 times within 600 seconds" in search.said()


def test_workers_know_each_others_results_and_share_no_network(begin):
    search = begin(workers=2, maxTrialNum=8)
    trials = search.run()
    assert {trial.state for trial in trials} == {"ok"}
    assert sorted(trial.seq for trial in trials) == list(range(8))
    assert [trial.worker for trial in trials] == [trial.seq % 2 for trial in trials]
    later = trials[2:]
    assert len({trial.digest for trial in later} | {trials[0].digest}) == len(later) + 1
    assert trials[0].digest == trials[1].digest
    assert (
        len({(search.experiment / f"trials/0000{n}/trial.log").read_text().partition("loss")[2] for n in (0, 1)}) == 2
    )
    assert search.events("progress", worker=0)[-1]["trials"] > 4
    assert (search.experiment / "attempts/1.json").exists()


@pytest.mark.parametrize("worker_too", [False, True])
def test_a_full_disk_is_waited_for(begin, tmp_path, worker_too):
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "small", str(folder)], check=True)
    try:
        search = begin("small/r1", maxTrialNum=4, warmup_2=15).start()
        search.wait_for_trial(1)
        fill(folder)
        began = len(search.records("began"))
        search.wait_for(lambda: subprocess.run(["sleep", "3"], check=True))
        if worker_too:
            kill(search.worker_process())
            search.wait_for(lambda: subprocess.run(["sleep", "4"], check=True))
        (folder / "dump").unlink()
        assert search.ended() == [0]
        states = [trial.state for trial in search.trials()]
        assert states == ["ok", "lost" if worker_too else "ok", "ok", "ok"]
        assert len(search.records("began")) == began + worker_too
        assert read_experiment(search.experiment).problems == []
    finally:
        search.kill()
        subprocess.run(["umount", str(folder)], check=True)


def test_a_search_without_any_further_network_says_so_and_ends(begin):
    search = begin(duration=60, operations="kernel", kernel_size=[3], max_growth=1.0)
    (trial,) = search.run()
    assert trial.state == "ok"
    assert "worker 0 ends: " in search.said()
    assert "gave no network that is new and at most max_growth=1 times the start network" in search.said()

"""Trials of a search for networks: those that fail by themselves, on two devices, and of images of all kinds."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
from pathlib import Path

import pytest
from lab.automl_environment import automl_environment
from lab.automl_searches import Search, draw_idx, kill
from rackmark.aiperf.experiment import read_experiment
from rackmark.aiperf.flops import flops_per_image

PICTURES = Path(__file__).with_name("automl_pictures.py")
OF_PICTURES = {"image_size": 24, "batch_size": [6, 12], "maxTrialNum": 2, "workers": 1}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return draw_idx(tmp_path_factory.mktemp("images") / "idx")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    root = tmp_path_factory.mktemp("pictures")
    subprocess.run([automl_environment(), str(PICTURES), str(root)], check=True)
    return root


@pytest.fixture
def begin(tmp_path):
    begun = []

    def search(data, name="r1", **options):
        begun.append(Search(tmp_path / name, data, **options))
        return begun[-1]

    yield search
    for each in begun:
        each.kill()


def test_what_is_counted_is_what_was_trained(begin, images):
    search = begin(images, maxTrialNum=5, train_images=100, eval_images=60, maxTPEsearchNum=3)
    trials = search.run()
    described = json.loads((search.experiment / "experiment.json").read_text())
    assert described["dataset"]["counted"] == [100, 60]
    assert described["dataset"]["shape"] == [28, 28, 1] and described["dataset"]["classes"] == 3
    assert [len(trial.trainings) for trial in trials] == [1, 1, 1, 3, 3]
    for trial in trials:
        assert trial.images == 100 * trial.epochs
        assert trial.seconds < trial.ended - trial.began
        model = json.loads((search.experiment / f"hyperparameter_epoch/{trial.seq:05d}/model.json").read_text())
        assert flops_per_image(model, trial.hyperparameter["kernel_size"]) == trial.flops
        best = json.loads((search.experiment / f"hyperparameter/{trial.seq}.json").read_text())
        assert best["single_acc"] == trial.accuracy
        assert {"accuracy": trial.accuracy, "hyperparameter": best["hyperparameter"], "epochs": 2} in [
            {**training, "epochs": 2} for training in trial.trainings
        ]
    logged = (search.experiment / "trials/00003/trial.log").read_text()
    assert [logged.count(f"HPO-{number},hyperparameters:{{") for number in range(3)] == [1, 1, 1]
    assert search.events("trial")[-1]["epochs"] == trials[-1].epochs


def test_only_weights_that_may_be_inherited_are_kept(begin, images):
    search = begin(images, maxTrialNum=20, train_images=60, eval_images=30, maxTPEsearchNum=1, epochs=1)
    trials = search.run()
    kept = {int(path.parent.name) for path in search.experiment.glob("checkpoint/*/weights.pt")}
    best = sorted(trials, key=lambda trial: (-trial.accuracy, trial.seq))[:16]
    assert kept == {0, *(trial.seq for trial in best)}  # the start network has room to grow


def test_networks_begin_with_what_was_learned_before(begin, images):
    """By a rate so low that nothing can be learned."""
    learned = begin(images, maxTrialNum=1, warmup_1=8)
    (start,) = learned.run()
    assert start.accuracy > 0.6
    file = learned.experiment / "checkpoint/00000/weights.pt"
    unlearning = {"maxTrialNum": 3, "initial_lr": 1e-9}
    given = begin(images, "given", start_weights=str(file), **unlearning).run()
    assert min(trial.accuracy for trial in given) > start.accuracy - 0.15
    without = begin(images, "without", start_weights=str(file), inherit=False, **unlearning).run()
    assert without[0].accuracy == given[0].accuracy
    assert max(trial.accuracy for trial in without[1:]) < start.accuracy - 0.15


def test_start_weights_that_are_missing_are_refused(begin, images):
    search = begin(images, start_weights="/nowhere/weights.pt")
    assert search.start().ended() == [2]
    assert "start_weights=/nowhere/weights.pt is no file: name one, or none" in search.said()


def test_a_loss_that_is_no_number_ends_its_trial_and_not_the_search(begin, images):
    search = begin(images, initial_lr=1e30, maxTrialNum=3)
    trials = search.run()
    assert [(trial.state, trial.accuracy) for trial in trials] == [("diverged", None)] * 3
    assert "the loss of a step is nan in epoch 1" in trials[0].reason
    assert not list(search.experiment.glob("hyperparameter/*"))
    assert read_experiment(search.experiment).problems == []


def test_a_trial_that_finds_no_memory_is_followed_by_another(begin, tmp_path):
    """A batch of large images does not fit into what the processes may take; reading them does."""
    data = draw_idx(tmp_path / "small", train=24, evaluated=3, side=4)
    side, count = 2000, 24
    with gzip.open(data / "train-images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
        file.write((0x803).to_bytes(4, "big") + count.to_bytes(4, "big") + side.to_bytes(4, "big") * 2)
        file.write(bytes(count * side * side))
    (data / "train-images-idx3-ubyte").unlink()
    with (data / "t10k-images-idx3-ubyte").open("wb") as file:
        file.write((0x803).to_bytes(4, "big") + (3).to_bytes(4, "big") + side.to_bytes(4, "big") * 2)
        file.write(bytes(3 * side * side))
    search = begin(data, maxTrialNum=2, batch_size=[24, 24])
    limit = 2**31
    search.start(before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert search.ended() == [0], search.said()
    assert [trial.state for trial in search.trials()] == ["oom", "oom"]
    assert "allocate memory" in search.trials()[0].reason


def test_two_devices_train_together_and_one_that_dies_takes_its_trial_with_it(begin, images):
    search = begin(images, devices=2, maxTrialNum=3, warmup_1=2, warmup_2=15, train_images=101, eval_images=61).start()
    search.wait_for_trial(1)
    kill(search.rank_process(1))
    assert search.ended() == [0]
    trials = search.trials()
    assert [trial.state for trial in trials] == ["ok", "crashed", "ok"]
    assert "the process of device 1 was ended by SIGKILL" in trials[1].reason
    # Each image once, on one of them; all are counted, and so are those that are evaluated.
    assert trials[0].images == 2 * 101
    assert (trials[0].accuracy * 61) == pytest.approx(round(trials[0].accuracy * 61), abs=1e-3)


@pytest.mark.parametrize(("kind", "folder", "devices"), [("imagefolder", "tree", 1), ("tfrecord", "records", 2)])
def test_pictures_are_learned(begin, pictures, kind, folder, devices):
    search = begin(pictures / folder, kind=kind, devices=devices, warmup_1=6, warmup_2=2, **OF_PICTURES)
    trials = search.run()
    assert [(trial.state, trial.epochs, trial.images) for trial in trials] == [("ok", 6, 6 * 24), ("ok", 2, 2 * 24)]
    assert trials[1].accuracy > 0.5
    described = json.loads((search.experiment / "experiment.json").read_text())
    assert described["dataset"]["shape"] == [24, 24, 3] and described["dataset"]["classes"] == 3
    assert (described["dataset"]["train_images"], described["dataset"]["eval_images"]) == (24, 12)


def test_records_that_are_cut_off_are_refused(begin, pictures, tmp_path):
    (tmp_path / "records").mkdir()
    for path in (pictures / "records").iterdir():
        (tmp_path / "records" / path.name).write_bytes(path.read_bytes())
    cut = tmp_path / "records/train-00002-of-00004"
    cut.write_bytes(cut.read_bytes()[:-100])
    search = begin(tmp_path / "records", kind="tfrecord", **OF_PICTURES)
    assert search.start().ended() == [2]
    assert f"{cut} is cut off, or no TFRecord file: its record at byte " in search.said()

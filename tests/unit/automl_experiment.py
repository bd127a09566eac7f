"""Writes the experiment of a search for networks as its workers leave it; tests then damage what they are about."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from rackmark.aiperf.flops import flops_per_image
from unit.test_aiperf_flops import GRAPH

BEGAN = datetime(2026, 11, 18, 10, 30, 0, tzinfo=timezone.utc).timestamp()  # noon comes within a search of two hours
WAITED = 1  # seconds between two trials of a worker


def moment(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc)


def stamp(seconds):
    return moment(seconds).strftime("[%m/%d/%Y, %I:%M:%S %p] PRINT ")


def date(seconds):
    return moment(seconds).strftime("%m/%d/%Y, %H:%M:%S")


def write_json(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


class Search:
    """Workers take their trials one after another, with a second between them. `clock` is each worker's."""

    def __init__(self, experiment, workers=1, duration=150, counted=(2000, 1000), began=BEGAN, ahead=None, **fields):
        """`ahead` are seconds by which the clocks of the workers are ahead; `fields` are others of experiment.json."""
        self.folder, self.workers, self.began = experiment, workers, began
        self.clock = [began + seconds for seconds in ahead or [0] * workers]
        self.rounds = [0] * workers
        self.record = {
            "schema": "rackmark.automl/1",
            "id": "run-7-1n1g-r1",
            "profile": "lab",
            "slave": workers,
            "devices": 1,
            "seed": 7,
            "began": began,
            "duration": duration,
            "parameters": {"maxTrialNum": 6000},
            "dataset": {"name": "fashion-mnist", "digest": "0" * 8, "classes": 10, "counted": list(counted)},
            "start_graph": "lab",
            "start_weights": "none",
            "inherit": True,
            "precision": "fp32",
            **fields,
        }
        write_json(experiment / "experiment.json", self.record)
        self.attempt(1, duration)

    def attempt(self, number, seconds):
        """It begins with its first trial, a second after its workers."""
        self._attempt = number
        begin = {"attempt": number, "began": self.clock[0] + WAITED, "seconds": seconds}
        write_json(self.folder / f"attempts/{number}.json", begin)
        for worker in range(self.workers):
            self.append(worker, event="began", attempt=number, host=f"node{worker + 1}")

    def append(self, worker, **record):
        path = self.folder / f"history/worker-{worker}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps({"worker": worker, "time": self.clock[worker], **record}) + "\n")

    def trial(self, worker, *trainings, epoch=10, state="ok", father=None, graph=GRAPH, kernel=3, **ended):
        """Each of `trainings` are the accuracies of its epochs, which take `epoch` seconds. `ended` are other fields
        of its last record; state None is a trial without one."""
        seq = self.rounds[worker] * self.workers + worker
        self.rounds[worker] += 1
        self.clock[worker] += WAITED
        flops = flops_per_image(graph, kernel)
        self.append(
            worker,
            event="started",
            seq=seq,
            attempt=self._attempt,
            father=father,
            digest=f"{seq:016x}",
            morphs=[] if father is None else ["deeper conv at 2"],
            hyperparameter=_settings(kernel),
            flops={"evaluation": flops.evaluation, "training": flops.training},
            layers=len(graph["layer_list"]),
            params=1000 + seq,
            features=[float(seq)] * 17,
            waited=WAITED,
        )
        self._files(seq, graph)
        log = []
        for number, accuracies in enumerate(trainings):
            begun = self.clock[worker]
            for place, accuracy in enumerate(accuracies, start=1):
                log.append(f"{stamp(self.clock[worker])}Epoch {place}/{len(accuracies)}\n")
                self.clock[worker] += epoch
                log.append(_done(self.clock[worker], accuracy))
            best = max(accuracies)
            self._training(seq, number, kernel, begun, len(accuracies), best, self.clock[worker])
            if state == "ok" or number < len(trainings) - 1:
                log.append(f"HPO-{number},hyperparameters:{json.dumps(_settings(kernel))},best_val_acc:{best}\n")
        if not trainings:
            self._training(seq, 0, kernel, self.clock[worker], 0, 0, None)
        (self.folder / f"trials/{seq:05d}/trial.log").write_text("".join(log))
        epochs = sum(map(len, trainings))
        if state == "ok":
            write_json(self.folder / f"hyperparameter/{seq}.json", _settings(kernel))
        if state is not None:
            self.append(
                worker,
                event="ended",
                seq=seq,
                **{
                    "state": state,
                    "accuracy": max((max(one) for one in trainings), default=None),
                    "epochs": epochs,
                    "images": epochs * self.record["dataset"]["counted"][0],
                    "seconds": epochs * epoch,
                    "trainings": [
                        {"hyperparameter": _settings(kernel), "accuracy": max(one), "epochs": len(one)}
                        for one in trainings
                    ],
                    "reason": None,
                    **ended,
                },
            )
        return seq

    def _files(self, seq, graph):
        parameter = {"parameter_id": seq, "parameter_source": "algorithm", "parameters": "{}", "parameter_index": 0}
        write_json(self.folder / f"trials/{seq:05d}/parameter.cfg", parameter)
        write_json(self.folder / f"hyperparameter_epoch/{seq:05d}/model.json", graph)

    def _training(self, seq, number, kernel, begun, epochs, best, finished):
        content = {
            "get_sequence_id": seq,
            "hyperparameter": _settings(kernel),
            "epoch": epochs,
            "single_acc": best,
            "train_time": 0,
            "start_date": date(begun),
        }
        if finished is not None:
            content["finish_date"] = date(finished)
        write_json(self.folder / f"hyperparameter_epoch/{seq:05d}/{number}.json", content)


def _settings(kernel):
    return {"dropout_rate": 0.1, "kernel_size": kernel, "batch_size": 64}


def _done(seconds, accuracy):
    """Both lines with the same time, and no bracket behind it."""
    at = stamp(seconds)
    losses = "- loss: 2.1 - accuracy: 0.61 - val_loss: 2.2"
    return f"{at}312/312 done\n{at}312/312 {losses} - val_accuracy: {accuracy:.5f}\n"

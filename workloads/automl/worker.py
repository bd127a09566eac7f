"""The long-lived process of a node: loads torch and the data once, and searches until the time is over."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import optuna  # noqa: F401, forked processes then have it
import rackmark_log
import torch
from candidates import Rules
from data import Data, check_amounts
from experiment import FOLDER, join
from forked import Group, leave, settle
from morphs import OPERATIONS
from offspring import Offsprings
from outcome import UsageError
from parameters import Parameters, parameters_of
from rackmark.automl.history import History
from rackmark.automl.trials import Trials
from rackmark.node.image_data import kind_of_images
from rackmark.node.job_record import JobRecord, RecordError, read_record
from rackmark.node.processes import Events
from ranks import Ranks
from room import with_room
from searcher import Search, Searcher
from start_graphs import start_graph
from trial import Surroundings

_GIGABYTE = 2**30


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    events = Events()  # from here on, to be asked to end is no reason to end in the middle of something
    folder = Path.cwd()
    experiment = folder / FOLDER
    record = read_record(folder)
    parameters = parameters_of(record.settings)
    number, workers = _number("RANK", 0), _number("WORLD_SIZE", 1)
    given = parser.parse_args().data
    data = _read_data(given, kind_of_images(given) or record.data, parameters, experiment, number)
    check_amounts(data, parameters.train_images, parameters.eval_images, record.devices_per_node)
    try:
        start = start_graph(parameters.start_graph, data.shape, data.classes)
    except ValueError as error:
        raise UsageError(str(error)) from None
    precision = record.precision or "fp32"
    if record.device == "cpu" and precision == "fp16":
        raise UsageError("fp16 needs an accelerator: on CPUs use fp32 or bf16")
    if parameters.start_weights != "none" and not Path(parameters.start_weights).is_file():
        raise UsageError(f"start_weights={parameters.start_weights} is no file: name one, or none")
    described = join(experiment, record, parameters, data, workers)
    history, trials = History(experiment, workers, reader=number), Trials()

    def known() -> Trials:
        """In a trial's process, which may have begun hours ago: with what has been recorded since."""
        trials.take(history.look())
        return trials

    around = Surroundings(
        experiment=experiment,
        data=data,
        parameters=parameters,
        space=parameters.space(_device_gigabytes(record, parameters)),
        device=record.device,
        precision=precision,
        devices=record.devices_per_node,
        threads=_number("OMP_NUM_THREADS", os.cpu_count() or 1),
        past=known,
    )
    rules = Rules(parameters.chosen_operations(OPERATIONS), parameters.max_growth, around.space.kernel_size, workers)
    offsprings = Offsprings(around, start, rules, trials, record.batch)
    attempt = 1 + sum(1 for _ in folder.glob("attempt-*"))
    search = Search(experiment, described, attempt, record.duration, number, workers, record.stalled_after)
    settle()
    with_room(lambda: _tell_start(Ranks(number, 0, workers), record, precision))
    Searcher(search, around, history, trials, offsprings, events).run()
    with suppress(OSError):
        rackmark_log.end(0)


def _tell_start(ranks: Ranks, record: JobRecord, precision: str) -> None:
    rackmark_log.start(
        ranks,
        device=record.device,
        batch=record.batch,
        precision=precision,
        framework="pytorch",
        framework_version=torch.__version__,
    )


def _read_data(folder: Path, kind: str, parameters: Parameters, experiment: Path, worker: int) -> Data:
    if kind == "idx":
        from data_idx import read_idx

        return read_idx(folder)
    if kind == "imagefolder":
        from data_images import read_tree

        return read_tree(folder, parameters.image_size, parameters.workers)
    if kind == "tfrecord":
        from data_tfrecord import read_tfrecord

        return read_tfrecord(folder, parameters.image_size, parameters.workers, experiment, worker)
    raise UsageError(f"--data of the kind {kind} cannot be read: it has to be idx, imagefolder or tfrecord")


def _device_gigabytes(record: JobRecord, parameters: Parameters) -> float | None:
    """Asked for in a process of its own: one that has talked to a device must not be forked."""
    if parameters.batch_size_absolute:
        return None
    if record.device == "cpu":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / record.devices_per_node / _GIGABYTE
    found = Group([lambda report: report.say(bytes=_device_bytes(record.device))]).wait()
    if not found:
        raise UsageError(f"the memory of the node's first {record.device} device cannot be read")
    return float(round(found[0]["bytes"] / _GIGABYTE))


def _device_bytes(kind: str) -> int:
    if kind == "npu":
        import torch_npu  # noqa: F401, it adds torch.npu
    return int(getattr(torch, kind).get_device_properties(0).total_memory)


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"{name}={text!r} in the environment is not a whole number")
    return int(text)


def _refuse(sentence: str) -> NoReturn:
    print(f"worker.py: {sentence}", file=sys.stderr)
    leave(2)


if __name__ == "__main__":
    try:
        main()
    except (UsageError, RecordError) as wrong:
        _refuse(str(wrong))
    leave(0)

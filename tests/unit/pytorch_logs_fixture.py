"""Logs as NVIDIA's and PyTorch's example trainings write them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np

BEGIN = datetime(2020, 9, 30, 23, 59, 50, 765000)


def durations(count: int) -> list[float]:
    """Of steps: a first one that is slow, and no two neighbours alike."""
    return [12.5, *(0.25 + 0.01 * (number % 7) for number in range(1, count))]


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


class Logger:
    """Writes as DLLogger does, to a terminal or to its file."""

    def __init__(self, to_file: bool, form) -> None:
        self.lines: list[str] = []
        self._to_file, self._form = to_file, form

    def log(self, seconds: float, step, data: dict, units: dict | None = None) -> None:
        time = at(seconds)
        if self._to_file:
            record = {"timestamp": f"{time.timestamp()}", "datetime": f"{time}", "elapsedtime": f"{seconds}"}
            self.lines.append("DLLL " + json.dumps({**record, "type": "LOG", "step": step, "data": data}))
        else:
            values = " ".join(f"{name} : {value} {(units or {}).get(name, '')}" for name, value in data.items())
            self.lines.append(f"DLL {time} - {self._form(step)} {values}")

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def resnet_step(step) -> str:
    if isinstance(step, str):
        return step
    names = ("Epoch: {} ", "Iteration: {} ", "Validation Iteration: {} ")
    return "".join(name.format(number) for name, number in zip(names, step)) or "Summary:"


def bert_step(step) -> str:
    if isinstance(step, str):
        return step
    return "".join(f"{name}: {number} " for name, number in zip(("Training Epoch", "Training Iteration"), step))


def resnet(steps: int = 130, epochs: int = 1, to_file: bool = False, evaluation: float = 40.0) -> str:
    logger, passed = Logger(to_file, resnet_step), 0.0
    units = {"train.total_ips": "img/s", "val.top1": "%", "val.total_ips": "img/s"}
    parameters = {"data": "/imagenet", "arch": "resnet50", "batch_size": 64, "optimizer_batch_size": -1}
    logger.log(passed, "PARAMETER", {**parameters, "amp": False, "local_rank": 0, "gpu": 0, "world_size": 8})
    for epoch in range(epochs):
        for number, taken in enumerate(durations(steps), 1):
            passed += taken
            logger.log(
                passed,
                [epoch, number],
                {"train.loss": 7 - epoch - number / 1000, "train.total_ips": round(512 / taken, 2)},
                units,
            )
        passed += evaluation
        logger.log(passed, [epoch, steps, 5], {"val.top1": 99.0, "val.total_ips": 1906.02}, units)
        ending = {"train.loss": 6.5, "train.total_ips": 1500.5, "val.top1": 70.0 + epoch}
        logger.log(passed, [epoch], ending, units)
    logger.log(passed, [], {"train.loss": 7.08, "train.total_ips": 1660.24, "val.top1": 71.0}, units)
    return logger.text


def bert(steps: int = 120, every: int = 1, accumulation: int = 1, to_file: bool = False) -> str:
    logger, passed = Logger(to_file, bert_step), 0.0
    config = f"Namespace(disable_progress_bar=False, gradient_accumulation_steps={accumulation}, train_batch_size=48)"
    logger.log(0, "PARAMETER", {"Config": [config]})
    logger.log(0, "PARAMETER", {"batch_size_per_gpu": 48})
    for number, taken in enumerate(durations(steps), 1):
        passed += taken
        if number % every == 0:
            losses = {"average_loss": 10.5, "step_loss": 11 - number / 100, "learning_rate": 0.0001}
            logger.log(passed, [number // 100, number], losses)
    ending = {"e2e_train_time": 61.25, "training_sequences_per_second": 943.63, "final_loss": 9.75}
    logger.log(passed, [], ending, {"e2e_train_time": "s"})
    return logger.text


def example_line(epoch: int, number: int, total: int, seconds: float, mean: float, loss: float, old: bool) -> str:
    if old:
        time, losses = f"Time {seconds:.3f} ({mean:.3f})", f"Loss {loss:.4f} ({loss:.4f})"
        return f"Epoch: [{epoch}][{number}/{total}]\t{time}\tData 0.001 (0.002)\t{losses}\tPrec@1 1.562 (1.172)"
    time, losses = f"Time {seconds:6.3f} ({mean:6.3f})", f"Loss {loss:.4e} ({loss:.4e})"
    padded = f"{number:{len(str(total))}d}/{total}"
    return f"Epoch: [{epoch}][{padded}]\t{time}\tData  0.001 ( 0.002)\t{losses}\tAcc@1   1.56 (  1.17)"


def example(
    steps: int = 150, epochs: int = 1, every: int = 1, old: bool = False, first: int = 0, loss: float = 6.9828
) -> str:
    lines = ["Use GPU: 0 for training", "=> creating model 'resnet50'"]
    for epoch in range(epochs):
        taken = durations(steps)
        passed = np.cumsum(taken).tolist()
        for number in range(0, steps, every):
            mean = passed[number] / (number + 1)
            lines.append(example_line(epoch, number + first, steps, taken[number], mean, loss, old))
        lines.append(" * Prec@1 70.500 Prec@5 89.000" if old else f" *   Acc@1 {70.5 + epoch:.3f} Acc@5 89.000")
    return "\n".join(lines) + "\n"

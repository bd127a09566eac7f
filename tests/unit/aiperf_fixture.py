"""Writes the folder of an AIPerf experiment as its trials leave it; tests then damage what they are about."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

from unit.test_aiperf_flops import GRAPH

BEGIN = datetime(2026, 11, 18, 23, 30, 0, tzinfo=timezone.utc)  # midnight comes soon


def stamp(minutes, seconds=0):
    return (BEGIN + timedelta(minutes=minutes, seconds=seconds)).strftime("[%m/%d/%Y, %I:%M:%S %p] PRINT ")


def seconds(minutes):
    return (BEGIN + timedelta(minutes=minutes)).timestamp()


def keras_epochs(accuracies, begin=0, of=60):
    """Epochs of ten minutes each; the progress bar redraws itself."""
    lines = []
    for number, accuracy in enumerate(accuracies, start=1):
        at = begin + 10 * (number - 1)
        lines.append(f"{stamp(at)}Epoch {number}/{of}\n")
        lines.append(f"{stamp(at, 1)}\n")
        lines.append("   1/312 [....] - ETA: 5:10 - loss: 6.9" + "\b" * 40 + "\r" + "   2/312 [....] - ETA: 5:09\b\b\r")
        lines.append(
            f"{stamp(at + 10)}312/312 [====] - 600s 2s/step - loss: 3.1 - accuracy: 0.2 - val_loss: 3.2"
            f" - val_accuracy: {accuracy}\n"
        )
    return "".join(lines)


def device_epochs(accuracies, devices=2, begin=0, of=60):
    """Epochs of ten minutes; each device is a second later than the one before it and a hundredth better."""
    lines = []
    for number, accuracy in enumerate(accuracies, start=1):
        at = begin + 10 * number
        for device in range(devices):
            head = f"[Device {device}] Epoch {number}/{of}, "
            lines.append(f"{stamp(at - 1, device)}{head}train time: 541042.11, per step time: 108.3, loss: 3.1\n")
        for device in range(devices):
            head = f"[Device {device}] Epoch {number}/{of}, "
            lines.append(f"{stamp(at, device)}{head}EvalAcc:{accuracy + device / 100}, EvalTime 41s\n")
    return "".join(lines)


def end_of_training(number, minutes, accuracy):
    settings = "{'dropout_rate': 0.0, 'kernel_size': 3, 'batch_size': 448}"
    return f"{stamp(minutes)}HPO-{number},hyperparameters:{settings},best_val_acc:{accuracy}\n"


def write_trial(folder, name, log, sequence=0, begins=(0,), ended=True):
    """`begins`: the minutes at which its trainings begin."""
    logs, trainings = folder / "trials" / name, folder / "hyperparameter_epoch" / name
    logs.mkdir(parents=True)
    trainings.mkdir(parents=True)
    (logs / "trial.log").write_text(log)
    (logs / "parameter.cfg").write_text(json.dumps({"parameter_id": sequence, "parameter_source": "algorithm"}))
    (trainings / "model.json").write_text(json.dumps(GRAPH))
    for number, minutes in enumerate(begins):
        begin = (BEGIN + timedelta(minutes=minutes)).strftime("%m/%d/%Y, %H:%M:%S")
        settings = {"hyperparameter": {"kernel_size": 3}, "epoch": 0, "single_acc": 0, "start_date": begin}
        (trainings / f"{number}.json").write_text(json.dumps(settings))
    if ended:
        (folder / "hyperparameter").mkdir(exist_ok=True)
        (folder / "hyperparameter" / f"{sequence}.json").write_text('{"kernel_size": 3}')
    return folder

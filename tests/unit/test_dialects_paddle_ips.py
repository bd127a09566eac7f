"""PaddleSeg, PaddleDetection, PaddleClas and PaddleRec."""

from __future__ import annotations

import re

import pytest
from framework_logs import lines
from rackmark.run.cases import Case
from shared_data import shared
from unit.judged_log import judged, judged_file
from unit.log_fixture import write


def seg(costs, batch=4):
    return lines(
        f"2021-10-08 23:18:55 [INFO]\t[TRAIN] epoch: 1, iter: {number * 10}/1000, loss: 2.0655, lr: 0.0099, batch_cost:"
        f" {cost:.4f}, reader_cost: 0.02874, ips: {batch / cost:.4f} samples/sec | ETA 00:06:25"
        for number, cost in enumerate(costs, 1)
    )


def detection(costs, batch=16, per_epoch=100):
    return lines(
        f"[07/23 00:27:42] ppdet.engine INFO: Epoch: [{step // per_epoch}] [{step % per_epoch:4d}/{per_epoch}]"
        f" learning_rate: 0.000042 loss: 0.824391 loss_cls: 0.386 eta: 8:10:56 batch_cost: {cost:.4f} data_cost: 0.09"
        f" ips: {batch / cost:.4f} images/s"
        for step, cost in zip(range(0, 10**6, 20), costs)
    )


def clas(costs, batch=256):
    return lines(
        f"[2022/01/01 12:00:00] ppcls INFO: [Train][Epoch 1/120][Iter: {step}/5004]lr(LinearWarmup): 0.1, CELoss:"
        f" 6.96, loss: 6.96, batch_cost: {cost:.5f}s, reader_cost: 0.01, ips: {batch / cost:.5f} samples/s, eta: 1 day"
        for step, cost in zip(range(0, 10**6, 10), costs)
    )


def rec(costs, batch=1024):
    return lines(
        f"2022-04-12 17:10:51,909 - INFO - epoch: {epoch}, batch_id: {step}, AUC:0.788134, loss:0.18541333,"
        f" avg_reader_cost: 0.00012 sec, avg_batch_cost: {cost / (1 if step else 500):.5f} sec, avg_samples:"
        f" {batch / (1 if step else 500):.5f}, ips: {batch / cost:.5f} ins/s"
        for epoch in range(3)
        for step, cost in zip(range(0, 10**6, 500), [5.0, *costs])
    )


@pytest.mark.parametrize(
    ("make", "batch"), [(seg, 4), (detection, 16), (clas, 256), (rec, 1024)], ids=["seg", "detection", "clas", "rec"]
)
def test_costs_and_rates_are_those_of_one_device(tmp_path, make, batch):
    result = judged(tmp_path, make([0.5] * 4 + [0.25] * 40), warmup=50 if make is not rec else 4 * 500)
    assert result.state == "ok"
    assert result.throughput == pytest.approx(8 * batch / 0.25, rel=0.01 if make is not rec else 0.1)


def test_an_evaluation_beside_the_training_is_no_step_and_its_bar_no_training(tmp_path):
    bar = "".join(
        f" {done}/76 [{'=' * (done // 3):.<30}] - ETA: 4s - batch_cost: 0.0542 - reader cost: 0.0146\n"
        for done in range(1, 76)
    )
    bar += f"76/76 [{'=' * 30}] - 4s 54ms/step - batch_cost: 0.0542 - reader cost: 0.0146\n"
    text = seg([0.5] * 2 + [0.25] * 40)
    half = len(text) // 2
    cut = text.index("\n", half) + 1
    result = judged(tmp_path, text[:cut] + bar + text[cut:], dialect="paddle-seg")
    assert result.throughput == pytest.approx(8 * 4 / 0.25)


def test_lines_of_an_inference_are_no_training(tmp_path):
    text = rec([0.5] * 3) + "INFO - use_gpu: True, infer_batch_size: 1024, test_data_dir: test\n" + rec([0.1] * 3)
    assert judged(tmp_path, text, warmup=500).throughput == pytest.approx(8 * 1024 / 0.5, rel=1e-3)


def test_two_trainings_of_paddleseg_in_a_log_are_not_added():
    result = judged_file(shared("logs-more/paddle/paddleseg_workerlog.0"), case=Case(1, 1))
    assert (result.state, result.throughput) == ("incomplete", None)


def test_a_published_training_of_paddleseg_gives_what_its_lines_say(tmp_path):
    text = shared("logs-more/paddle/paddleseg_workerlog.0").read_text()
    first = text[: text.index("iter: 1000/1000")]
    costs = [float(one) for one in re.findall(r"\[TRAIN\].* batch_cost: ([\d.]+)", first)][2:]
    write(tmp_path, {"a.log": first})
    result = judged_file(tmp_path, case=Case(1, 1), dialect="paddle-seg")
    assert result.throughput == pytest.approx(4 * len(costs) / sum(costs))


def test_the_published_log_of_paddlerec_gives_what_its_lines_say():
    path = shared("logs-more/paddle/paddle-sign_train.log")
    costs = [float(one) for one in re.findall(r"batch_id: [1-9]\d*, .*avg_batch_cost: ([\d.]+)", path.read_text())]
    result = judged_file(path, case=Case(1, 1), warmup=0)
    assert result.throughput == pytest.approx(1024 * len(costs) / sum(costs), rel=1e-3)

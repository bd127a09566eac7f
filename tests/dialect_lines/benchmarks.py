"""Lines of benchmarks, Keras and our own trainings."""

from __future__ import annotations

import json
from random import Random
from typing import Mapping

from .parts import Lines, a_loss, a_rate, logged_at, written_at


def _rackmark(number: int, chance: Random) -> str:
    seconds = chance.uniform(0.2, 0.3)
    record = {"event": "step", "time": 1.6e9 + number * 0.25 + seconds / 100, "step": number, "samples": 32}
    return "RACKMARK " + json.dumps({**record, "seconds": seconds, "loss": a_loss(chance)}) + "\n"


def _flagperf(number: int, chance: Random) -> str:
    def record(event: str, value: Mapping[str, object] | None) -> str:
        metadata = {
            "file": "/workspace/benchmarks/driver/event.py",
            "lineno": 127,
            "time_ms": 1669034171032 + 250 * number,
        }
        text = {"event": event, **({"value": value} if value else {}), "metadata": {**metadata, "rank": 0}}
        return f"[PerfLog] {json.dumps(text)}\n"

    value = {
        "loss": a_loss(chance),
        "global_steps": number,
        "num_trained_samples": 256 * number,
        "throughput": a_rate(chance),
    }
    return record("STEP_BEGIN", {"step": number}) + record("STEP_END", value)


def _mlperf(number: int, chance: Random) -> str:
    def line(key: str, value: object, **metadata: object) -> str:
        event = {"namespace": "", "time_ms": 1700000000000 + 60000 * number + chance.randrange(1000)}
        kind = {"event_type": "POINT_IN_TIME", "key": key, "value": value}
        return f":::MLLOG {json.dumps({**event, **kind, 'metadata': {'file': 'train.py', 'lineno': 12, **metadata}})}\n"

    batches = "".join(
        f"{logged_at(number, chance)} Node[0] Epoch[{number}] Batch [{batch}-{batch + 19}]\tSpeed: {a_rate(chance):.2f}"
        f" samples/sec\taccuracy={chance.random():.6f}\n"
        for batch in range(0, 200, 20)
    )
    return (
        batches
        + line("epoch_start", None, epoch_num=number)
        + line("tracked_stats", {"throughput": a_rate(chance)}, step=number)
        + line("eval_accuracy", chance.random(), epoch_num=number)
        + line("epoch_stop", None, epoch_num=number)
    )


def _nccl(number: int, chance: Random) -> str:
    size, algbw = 1 << (10 + number % 20), chance.uniform(20, 23)
    row = f"{size:>12} {size // 4:>13}     float     sum      -1"
    return row + f"  {size / algbw / 1e3:7.2f} {algbw:7.2f} {algbw * 1.75:7.2f}      0" * 2 + "\n"


def _ais_bench(number: int, chance: Random) -> str:
    training = "".join(
        f"[INFO] {written_at(number, chance)} rank {number % 16}: step {step}, loss {a_loss(chance):.4f}\n"
        for step in range(20)
    )
    return (
        f"{training}[{written_at(number, chance)}] url:s3:/out/V1/ranksize.json read ranksize:16\n"
        f"rankid:{number % 16} url:s3:/out/V1/throughput_{number % 16}.json read throughput:{a_rate(chance)}\n"
    )


def _ais_bench_ranks(number: int, chance: Random) -> str:
    begin = 1.6e9 + number
    training = "".join(f"step: {step} of 2502, loss is {a_loss(chance):.4f}\n" for step in range(0, 2502, 50))
    return (
        f"{training}epoch: 1 words of no interest data_size:2502 batch_size:256 datasum:640512\n"
        f"train done starttime:{begin} real:{begin + 100 + chance.random()} endtime:{begin + 900 + chance.random()}"
        " alldatasum:1281024 skipcount:640512 skiptime:100.5\n"
    )


def _keras(number: int, chance: Random) -> str:
    seconds = chance.uniform(200, 240)
    return (
        f"Epoch {number}/1000000\n"
        + "".join(
            f"{step}/600 [{'=' * (step // 20):.<30}] - ETA: 3:19 - loss: {a_loss(chance):.4f} - accuracy: 0.1203\n"
            for step in range(10, 600, 10)
        )
        + f"600/600 [{'=' * 30}] - {seconds:.0f}s {seconds / 0.6:.0f}ms/step - loss: {a_loss(chance):.4f}\n"
    )


def _horovod(number: int, chance: Random) -> str:
    return f"Iter #{number - 1}: {a_rate(chance):.1f} img/sec per GPU\n"


LINES: Mapping[str, Lines] = {
    "rackmark": Lines(_rackmark, 'RACKMARK {"event": "start", "model": "resnet50", "batch": 32, "world_size": 1}\n'),
    "flagperf": Lines(
        _flagperf,
        "",
        '[PerfLog] {"event": "FINISHED", "value": {"e2e_time": 1800.5, "training_sequences_per_second": 579.1,'
        ' "converged": true, "final_loss": 0.7, "train_time": 1600.5, "num_trained_samples": 900000},'
        ' "metadata": {"file": "run.py", "lineno": 1, "time_ms": 1669034171032, "rank": 0}}\n',
    ),
    "mlperf": Lines(
        _mlperf,
        "".join(
            f':::MLLOG {{"namespace": "", "time_ms": 1700000000000, "event_type": "{event}", "key": "{key}", "value":'
            f' {value}, "metadata": {{"file": "train.py", "lineno": 1}}}}\n'
            for event, key, value in (
                ("POINT_IN_TIME", "submission_benchmark", '"resnet"'),
                ("POINT_IN_TIME", "global_batch_size", "3264"),
                ("POINT_IN_TIME", "train_samples", "1281167"),
                ("INTERVAL_START", "run_start", "null"),
            )
        ),
        ':::MLLOG {"namespace": "", "time_ms": 1900000000000, "event_type": "INTERVAL_END", "key": "run_stop", "value":'
        ' null, "metadata": {"file": "train.py", "lineno": 1, "status": "success"}}\n',
    ),
    "nccl-tests": Lines(
        _nccl,
        "# Collective test starting: all_reduce_perf\n#  Rank  0 Group  0 Pid  123 on  node-1 device  0 [0x07] V100\n"
        "#       size    count      type  redop  root     time   algbw   busbw #wrong    time   algbw   busbw #wrong\n",
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 37.6\n",
    ),
    "ais-bench": Lines(
        _ais_bench,
        "workpath:/home/train_mindspore_resnet-Ais-Benchmark-Stubs\nserver_count:2 cards_per_server:8\n",
        "report result total_throughput : 14161.6\nreport result accuracy:0.77\n"
        "report >> throughput_list:[450.78, 450.39] average:450.58\n"
        'train_result_info: {\n"throughput_ratio": "450.58",\n"accuracy": "0.77",\n}\n',
    ),
    "ais-bench-ranks": Lines(_ais_bench_ranks),
    "keras": Lines(_keras, "Train on 60000 samples\n"),
    "horovod-benchmark": Lines(
        _horovod, "Model: ResNet50\nBatch size: 32\nNumber of GPUs: 8\n", "Total img/sec on 8 GPU(s): 1880.3 +-12.1\n"
    ),
}

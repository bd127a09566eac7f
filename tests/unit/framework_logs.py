"""Logs as the frameworks' benchmarks write them, of a slow begin and steady steps after it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Iterable, Sequence

from rackmark.dialects import catalog, deepspeed, hugectr, mxnet, nccl_tests, oneflow, paddle

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        *catalog.DIALECTS,
        *mxnet.DIALECTS,
        *paddle.DIALECTS,
        *oneflow.DIALECTS,
        *hugectr.DIALECTS,
        *deepspeed.DIALECTS,
        *nccl_tests.DIALECTS,
    )
}

NEARLY_MIDNIGHT = datetime(2020, 12, 31, 23, 59, 40)
UNIX = 1597933942.9863544


def lines(parts: Iterable[str]) -> str:
    return "".join(f"{part}\n" for part in parts)


def stamps(durations: Sequence[float]) -> list[str]:
    """The time at the end of each step, as Python's logging writes it."""
    now, written = NEARLY_MIDNIGHT, []
    for seconds in durations:
        now += timedelta(seconds=seconds)
        written.append(now.strftime("%Y-%m-%d %H:%M:%S,") + f"{now.microsecond // 1000:03d}")
    return written


def ends(durations: Sequence[float]) -> list[float]:
    return [UNIX + sum(durations[: number + 1]) for number in range(len(durations))]


def mxnet_gluon(rates: Sequence[float]) -> str:
    return lines(
        part
        for step, rate in enumerate(rates, 1)
        for part in (
            f"INFO:root:Epoch[0] Batch[{step}] Loss[6.912]",
            f"INFO:root:Epoch[0] Rank[0] Batch[{step}]\taccuracy=0.001953\tlr=0.001000",
            f"INFO:root:Epoch[0] Batch[{step}]\tSpeed: {rate:.2f} samples/sec",
        )
    )


def mxnet_ngc(durations: Sequence[float], ranks: int = 1) -> str:
    return lines(
        f"{stamp}:INFO: Epoch[0] Batch [{number}-{number}]\tSpeed: {96 * ranks / seconds + rank} samples/sec\tLR: 1\t"
        for number, (stamp, seconds) in enumerate(zip(stamps(durations), durations))
        for rank in range(ranks)
    )


def mxnet_bert(latencies: Sequence[Sequence[float]], loss: str = "7.41234") -> str:
    """`latencies` are those of all ranks, step by step."""
    return lines(
        f"INFO:root:[step {step}]\tmlm_loss={loss}\tnsp_loss= 0.69\tthroughput=4.1K tks/s"
        f"\tlr=0.0001000 time={latency / 1000:.2f}, latency={latency:.1f} ms/batch"
        for step, of_ranks in enumerate(latencies, 1)
        for latency in of_ranks
    )


def mxnet_speedometer(rates: Sequence[float], batch: str = "[{first}-{last}]") -> str:
    return lines(
        f"INFO:root:Epoch[0] Batch {batch.format(first=number * 20, last=number * 20 + 20)}\tSpeed: {rate:.2f}"
        " samples/sec\tacc=0.000000\tlossvalue=41.974941"
        for number, rate in enumerate(rates)
    )


def mxnet_partial_fc(rates: Sequence[float]) -> str:
    return lines(
        f"INFO:root:Iter:{step} Rank:{rate / 8:.2f} it/sec Total:{rate:.2f} it/sec [0][loss]:42.11 "
        for step, rate in enumerate(rates, 1)
    )


def paddle_resnet(durations: Sequence[float], dated: bool = True) -> str:
    return lines(
        f"{stamp + '-INFO: ' if dated else ''}[Pass 0, train batch {batch}] \tloss 7.02345, acc1 0.00000, acc5 0.00781,"
        f" lr 0.10000, elapse {seconds:.4f} sec"
        for batch, (stamp, seconds) in enumerate(zip(stamps(durations), durations))
    )


def paddle_bert(rates: Sequence[float], trainers: int | None = None) -> str:
    ends = [f"10.0.0.{number}:6170" for number in range(trainers or 1)]
    job = f"worker_endpoints:{ends} trainers_num:{trainers} current_endpoint:{ends[0]}               trainer_id:0"
    return lines(
        [
            "batch_size: 8192",
            "Device count 8",
            f"args.is_distributed: {trainers is not None}",
            *([job] if trainers else []),
            *(
                f"feed_queue size: 50, current learning_rate: 0.000001, \nepoch: 0, progress: 1/1, step: {step},"
                f" loss: 9.214511, ppl: 9045.139, next_sent_acc: 0.531250, speed: {rate:f} steps/s, file: demo.gz"
                for step, rate in enumerate(rates, 1)
            ),
        ]
    )


_ONEFLOW = (
    "num_gpu_per_node = 8",
    "dtype = float32",
    "gpu_num_per_node = 8",
    "num_nodes = 2",
    "model = resnet50",
    "use_fp16 = True",
    "batch_size_per_device = 128",
    "val_batch_size_per_device = 50",
)


def oneflow_cnn(durations: Sequence[float]) -> str:
    return lines(
        [
            *_ONEFLOW,
            *(
                f"train: epoch 0, iter {step}, loss: 6.987004, top_1: 0.001000, top_k: 0.005000,"
                f" samples/s: {2048 / seconds:.3f} {end}"
                for step, (seconds, end) in enumerate(zip(durations, ends(durations)), 1)
            ),
        ]
    )


def oneflow_bert(durations: Sequence[float], stamped: bool = True) -> str:
    return lines(
        f"step: {step}, total_loss: 9.725, mlm_loss: 8.960, nsp_loss: 0.766, throughput: {192 / seconds:.3f}"
        + (f" {end}" if stamped else "")
        for step, (seconds, end) in enumerate(zip(durations, ends(durations)))
    )


def oneflow_insightface(rates: Sequence[float]) -> str:
    return lines(f"train: iter {step}, loss 35.41, throughput: {rate:.3f}" for step, rate in enumerate(rates))


def oneflow_wdl(durations: Sequence[float], evaluation: str = "") -> str:
    """One line for every hundred steps."""
    return lines(
        [
            "batch_size = 16384",
            *(
                f"{number * 100} time {end} loss 0.4920539349317551{evaluation}"
                for number, end in enumerate(ends(durations), 1)
            ),
        ]
    )


def oneflow_wdl_models(latencies: Sequence[float]) -> str:
    return lines(
        f"[rank:0] iter: {number * 100}/1200, loss: 0.0780148208141327, latency(ms): {latency} | 2021-12-01 13:19:02"
        for number, latency in enumerate(latencies, 1)
    )


def oneflow_gpt(latencies: Sequence[float], batch: int = 512) -> str:
    head = ["step", "micro_batches", "samples", "throughput", "latency", "loss"]
    widths = [8, 15, 15, 10, 10, 10]
    rows = [head, ["-" * width for width in widths]]
    for number, latency in enumerate(latencies, 1):
        step = number * 10
        rate, seconds = f"{batch / latency:.5f}", f"{latency:.5f}"
        rows.append([str(step), str(step * 32), str(step * batch), rate, seconds, "6.82232"])
    table = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    return lines(
        [
            "  fp16 ............................................ True",
            "  num_gpus_per_node ............................... 8",
            "  num_nodes ....................................... 4",
            "Training...",
            *table,
        ]
    )


def hugectr_wdl(seconds: Sequence[float], evaluation: float | None = None) -> str:
    """One line for every hundred iterations."""
    after = "" if evaluation is None else f"\n[HUGECTR][02:51:59][INFO][RANK0]: Eval Time for 70 iters: {evaluation:f}s"
    return lines(
        f"[HUGECTR][02:51:59][INFO][RANK0]: Iter: {number * 100} Time(100 iters): {duration:f}s Loss: 0.106469"
        f" lr:0.001000{after}"
        for number, duration in enumerate(seconds, 1)
    )


def megatron(milliseconds: Sequence[float], batch: int = 32, loss: str = " lm loss: 9.729805E+00 |") -> str:
    """One line for every ten iterations."""
    return lines(
        f" [2024-10-24 21:02:42] iteration {number * 10:8d}/{500:8d} | consumed samples: {number * 10 * batch:12d} |"
        f" elapsed time per iteration (ms): {duration:.1f} | throughput per GPU (TFLOP/s/GPU): 84.8 | learning rate:"
        f" 4.800000E-05 | global batch size: {batch:5d} |{loss} loss scale: 1.0 | number of skipped iterations:   0 |"
        for number, duration in enumerate(milliseconds, 1)
    )


def deepspeed_steps(durations: Sequence[float], host: str = "", newer: bool = False) -> str:
    """The first two steps are not timed."""
    done = "epoch=0/micro_step={0}/global_step={0}, RunningAvg" if newer else "0/{0}, "
    return lines(
        f"{host}[{stamp}] [INFO] [timer.py:157:stop] {done.format(step)}SamplesPerSec={32 / seconds}"
        for step, (stamp, seconds) in enumerate(zip(stamps(durations), durations), 1)
        if step > 2
    )


SLOW_THEN_STEADY = [1.0] * 20 + [0.25] * 110
EXAMPLES = {
    "mxnet-gluon": mxnet_gluon([100] * 20 + [400] * 110),
    "mxnet-ngc": mxnet_ngc(SLOW_THEN_STEADY),
    "mxnet-bert": mxnet_bert([[900.0]] * 100 + [[250.0]] * 110),
    "mxnet-speedometer": mxnet_speedometer([100] + [400] * 6),
    "mxnet-partial-fc": mxnet_partial_fc([100] * 20 + [400] * 110),
    "paddle-resnet": paddle_resnet(SLOW_THEN_STEADY),
    "paddle-resnet-elapse": paddle_resnet(SLOW_THEN_STEADY, dated=False),
    "paddle-bert": paddle_bert([1.0] * 20 + [4.0] * 110),
    "oneflow-cnn": oneflow_cnn(SLOW_THEN_STEADY),
    "oneflow-bert": oneflow_bert(SLOW_THEN_STEADY),
    "oneflow-bert-rate": oneflow_bert(SLOW_THEN_STEADY, stamped=False),
    "oneflow-insightface": oneflow_insightface([100] * 25 + [400] * 110),
    "oneflow-wdl": oneflow_wdl([1.0] + [25.0] * 11),
    "oneflow-wdl-models": oneflow_wdl_models([80.0] + [250.0] * 11),
    "oneflow-gpt": oneflow_gpt([1.0] * 30 + [0.25] * 40),
    "hugectr": hugectr_wdl([1.0] + [25.0] * 11),
    "megatron": megatron([900.0] * 2 + [250.0] * 20),
    "deepspeed": deepspeed_steps([1.0] * 100 + [0.25] * 110, newer=True),
    "deepspeed-0.3": deepspeed_steps([1.0] * 100 + [0.25] * 110),
}

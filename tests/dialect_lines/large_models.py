"""Lines of OneFlow, HugeCTR, DeepSpeed and Megatron-LM."""

from __future__ import annotations

from random import Random
from typing import Mapping

from .parts import Lines, a_loss, a_rate, logged_at, written_at


def _oneflow_cnn(number: int, chance: Random) -> str:
    return (
        f"train: epoch 0, iter {number}, loss: {a_loss(chance):.6f}, top_1: {chance.random():.6f}, top_k: 1.000000,"
        f" samples/s: {a_rate(chance):.3f} {1.6e9 + number / 3 + chance.random() / 100}\n"
    )


def _oneflow_bert(number: int, chance: Random) -> str:
    stamp = 1.6e9 + number / 3 + chance.random() / 100
    return _oneflow_bert_rate(number, chance).rstrip("\n") + f" {stamp}\n"


def _oneflow_bert_rate(number: int, chance: Random) -> str:
    return (
        f"step: {number - 1}, total_loss: {a_loss(chance):.3f}, mlm_loss: {a_loss(chance):.3f}, nsp_loss: 0.679,"
        f" throughput: {a_rate(chance):.3f}\n"
    )


def _insightface(number: int, chance: Random) -> str:
    return f"train: iter {number}, loss {a_loss(chance):.2f}, throughput: {a_rate(chance):.3f}\n"


def _wide_deep(number: int, chance: Random) -> str:
    return f"{number * 100} time {1.6e9 + number / 3 + chance.random() / 100} loss {chance.random()}\n"


def _wide_deep_models(number: int, chance: Random) -> str:
    return (
        f"[rank:0] iter: {number * 100}/1000000, loss: {chance.random()}, latency(ms): {chance.uniform(2, 3)} |"
        f" {written_at(number, chance)}\n"
    )


def _oneflow_gpt(number: int, chance: Random) -> str:
    return (
        f"| {number:<8} | {number * 32:<15} | {number * 512:<15} | {a_rate(chance):<15.5f} |"
        f" {chance.uniform(13, 14):<10.5f} | {a_loss(chance):<10.5f} |\n"
    )


def _hugectr(number: int, chance: Random) -> str:
    return (
        f"[HUGECTR][02:51:{number % 60:02d}][INFO][RANK0]: Iter: {number * 100} Time(100 iters):"
        f" {chance.uniform(0.2, 0.3):.6f}s Loss: {chance.random():.6f} lr:0.001000\n"
    )


def _deepspeed(number: int, chance: Random) -> str:
    return (
        f"[{logged_at(number, chance)}] [INFO] [timer.py:260:stop] epoch=0/micro_step={number}/global_step={number},"
        f" RunningAvgSamplesPerSec={a_rate(chance)}, CurrSamplesPerSec={a_rate(chance)}, MemAllocated=2.4GB\n"
    )


def _deepspeed_old(number: int, chance: Random) -> str:
    return (
        f"[{logged_at(number, chance)}] [INFO] [timer.py:157:stop] 0/{number}, SamplesPerSec={a_rate(chance)}\n"
        f"[{logged_at(number, chance)}] [INFO] [logging.py:68:log_dist] [Rank 0] step={number}, skipped=0, lr=[0.1]\n"
    )


def _megatron(number: int, chance: Random) -> str:
    return (
        f" iteration {number:8d}/ 1000000 | consumed samples: {number * 32:12d} | elapsed time per iteration (ms):"
        f" {chance.uniform(290, 300):.1f} | learning rate: 1.500E-04 | global batch size:    32 | lm loss:"
        f" {a_loss(chance):.6E} | loss scale: 1.0 | grad norm: {chance.random():.3f} | number of nan iterations: 0 |\n"
    )


_ONEFLOW = "num_nodes = 1\ngpu_num_per_node = 8\nbatch_size_per_device = 128\nmodel = resnet50\nuse_fp16 = False\n"

LINES: Mapping[str, Lines] = {
    "oneflow-cnn": Lines(_oneflow_cnn, _ONEFLOW),
    "oneflow-bert": Lines(_oneflow_bert, _ONEFLOW),
    "oneflow-bert-rate": Lines(_oneflow_bert_rate, _ONEFLOW),
    "oneflow-insightface": Lines(_insightface),
    "oneflow-wdl": Lines(_wide_deep, _ONEFLOW),
    "oneflow-wdl-models": Lines(_wide_deep_models, "batch_size = 16384\n"),
    "oneflow-gpt": Lines(_oneflow_gpt, f"  num_nodes {'.' * 39} 4\n  fp16 {'.' * 44} True\n"),
    "hugectr": Lines(
        _hugectr,
        _ONEFLOW,
        "[HUGECTR][04:17:24][INFO][RANK0]: Finish 1200 iterations with batchsize: 65536 in 879.05s.\n",
    ),
    "deepspeed": Lines(_deepspeed),
    "deepspeed-0.3": Lines(_deepspeed_old),
    "megatron": Lines(_megatron),
}

"""Lines of TensorFlow, PyTorch, MindSpore, MXNet and PaddlePaddle, and NVIDIA's examples for them."""

from __future__ import annotations

from random import Random
from typing import Mapping

from .parts import Lines, a_loss, a_rate, logged_at, written_at


def _mindspore(number: int, chance: Random) -> str:
    ms = chance.uniform(3450, 3460)
    return (
        f"epoch: {number} step: 10, loss is {a_loss(chance):5.3f}\n"
        f"epoch time: {ms:5.3f} ms, per step time: {ms / 10:5.3f} ms\n"
    )


def _time_history(number: int, chance: Random) -> str:
    now = written_at(number * 100, chance)
    return (
        f"I{now:%m%d %H:%M:%S.%f} 140512 keras_utils.py:145] TimeHistory: {chance.uniform(38, 39):.2f} seconds,"
        f" {a_rate(chance):.2f} examples/second between steps {number * 100 - 100} and {number * 100}\n"
        f"I{now:%m%d %H:%M:%S.%f} 140512 controller.py:39] step = {number * 100}: words of no interest\n"
    )


def _tensorflow2_bert(number: int, chance: Random) -> str:
    now = written_at(number, chance)
    return (
        f"I{now:%m%d %H:%M:%S.%f} 14 model_training_utils.py:450] Train Step: {number}/1000000  / loss ="
        f" {a_loss(chance)}\n"
    )


def _dll_resnet(number: int, chance: Random) -> str:
    return (
        f"DLL {written_at(number, chance)} - Epoch: 0 Iteration: {number}  train.loss : {a_loss(chance):.5f}"
        f"  train.total_ips : {a_rate(chance):.2f} img/s\n"
    )


def _dll_bert(number: int, chance: Random) -> str:
    return (
        f"DLL {written_at(number, chance)} - Training Epoch: 0 Training Iteration: {number}  average_loss :"
        f" {a_loss(chance)}  step_loss : {a_loss(chance)}  learning_rate : 0.0004\n"
    )


def _dll_tensorflow(number: int, chance: Random) -> str:
    return (
        f"DLL {written_at(number, chance)} - (0, {number}) imgs_per_sec : {a_rate(chance)}  cross_entropy :"
        f" {a_loss(chance)}  l2_loss : 1.3796  total_loss : {a_loss(chance)}  learning_rate : 0.05\n"
    )


def _dll_tensorflow_bert(number: int, chance: Random) -> str:
    return (
        f"DLL {written_at(number, chance)} - Iteration: {number}  throughput_train : {a_rate(chance):.3f} seq/s"
        f" mlm_loss : {a_loss(chance):.4f}  nsp_loss : {a_loss(chance):.4f}  total_loss : {a_loss(chance):.4f}"
        "  avg_loss_step : 10.3  learning_rate : 7.5e-05  loss_scaler : 67108864\n"
    )


def _pytorch(number: int, chance: Random) -> str:
    epoch, step = divmod(number, 5005)
    seconds, loss = chance.uniform(0.3, 0.4), a_loss(chance)
    return (
        f"Epoch: [{epoch}][{step:4d}/5005]\tTime {seconds:6.3f} ({0.35:6.3f})\tData {0.001:6.3f} ({0.02:6.3f})\t"
        f"Loss {loss:.4e} ({loss:.4e})\tAcc@1 {chance.uniform(0, 99):6.2f} ({50:6.2f})\tAcc@5 {70:6.2f} ({70:6.2f})\n"
    )


def _gluon(number: int, chance: Random) -> str:
    return (
        f"INFO:root:Epoch[0] Batch[{number}] Loss[{a_loss(chance):.3f}]\n"
        f"INFO:root:Epoch[0] Rank[0] Batch[{number}]\taccuracy=0.001953\tlr=0.001000\n"
        f"INFO:root:Epoch[0] Batch[{number}]\tSpeed: {a_rate(chance):.2f} samples/sec\n"
    )


def _mxnet_ngc(number: int, chance: Random) -> str:
    step = number // 8
    return (
        f"{logged_at(step, chance)}:INFO: Epoch[0] Batch [{step}-{step}]\tSpeed: {a_rate(chance)} samples/sec\tLR: 1\n"
    )


def _mxnet_bert(number: int, chance: Random) -> str:
    latency = chance.uniform(200, 220)
    return (
        f"INFO:root:[step {number // 8 + 1}]\tmlm_loss={a_loss(chance):.5f}\tmlm_acc=2.3\tnsp_loss= 0.69\tnsp_acc= 51.2"
        f"\tthroughput=4.1K tks/s\tlr=0.0001000 time={latency / 1000:.2f}, latency={latency:.1f} ms/batch\n"
    )


def _speedometer(number: int, chance: Random) -> str:
    return (
        f"INFO:root:Epoch[0] Batch [{number * 20 - 20}-{number * 20}]\tSpeed: {a_rate(chance):.2f} samples/sec"
        f"\tacc=0.000000\tlossvalue={a_loss(chance):.6f}\n"
    )


def _partial_fc(number: int, chance: Random) -> str:
    return (
        f"INFO:root:Iter:{number} Rank:{a_rate(chance):.2f} it/sec Total:{8 * a_rate(chance):.2f} it/sec"
        f" [0][loss]:{a_loss(chance):.2f}\n"
    )


def _paddle(number: int, chance: Random) -> str:
    return (
        f"{logged_at(number, chance)}-INFO: [Pass 0, train batch {number}] \tloss {a_loss(chance):.5f}, acc1"
        f" {chance.random():.5f}, acc5 {chance.random():.5f}, lr 0.10000, elapse {chance.uniform(0.3, 0.4):.4f} sec\n"
    )


def _paddle_elapse(number: int, chance: Random) -> str:
    return _paddle(number, chance).split("INFO: ")[1]


def _paddle_bert(number: int, chance: Random) -> str:
    return (
        f"epoch: 0, progress: 1/1, step: {number}, loss: {a_loss(chance):.6f}, ppl: {chance.uniform(5000, 9999):.4f},"
        f" next_sent_acc: {chance.random():.5f}, speed: {chance.uniform(2, 3):.3f} steps/s, file: part-00000.gz\n"
    )


_DLL_PARAMETERS = (
    "DLL 2020-09-15 14:29:10.473765 - PARAMETER data : /data batch_size : 128  arch : resnet50  world_size : 8 "
    " batch_size_per_gpu : 32  gradient_accumulation_steps=4\n"
)

LINES: Mapping[str, Lines] = {
    "mindspore": Lines(_mindspore),
    "tensorflow2": Lines(
        _time_history,
        "Global batch size: 128\n",
        "{'accuracy_top_1': 0.76, 'loss': 1.9, 'training_accuracy_top_1': 1}\n",
    ),
    "tensorflow2-bert": Lines(_tensorflow2_bert, "", "{'total_training_steps': 120, 'train_loss': 9.1}\n"),
    "ngc-pytorch": Lines(
        _dll_resnet,
        _DLL_PARAMETERS,
        "DLL 2020-09-15 15:29:13.473765 - Summary: train.loss : 6.1  train.total_ips : 375.5 img/s\n",
    ),
    "ngc-pytorch-bert": Lines(
        _dll_bert, _DLL_PARAMETERS, "DLL 2020-09-15 15:29:13.47 - e2e_train_time : 99.5 final_loss : 6.1\n"
    ),
    "ngc-tensorflow": Lines(_dll_tensorflow, _DLL_PARAMETERS),
    "ngc-tensorflow-bert": Lines(_dll_tensorflow_bert, "", "DLL 2020-09-15 15:29:13.47 -  throughput_train : 370.1\n"),
    "pytorch-examples": Lines(_pytorch, "=> creating model 'resnet50'\n", " * Acc@1 1.500 Acc@5 5.300\n"),
    "mxnet-gluon": Lines(_gluon),
    "mxnet-ngc": Lines(_mxnet_ngc),
    "mxnet-bert": Lines(_mxnet_bert),
    "mxnet-speedometer": Lines(_speedometer),
    "mxnet-partial-fc": Lines(_partial_fc),
    "paddle-resnet": Lines(_paddle),
    "paddle-resnet-elapse": Lines(_paddle_elapse),
    "paddle-bert": Lines(_paddle_bert, "args.is_distributed: False\nDevice count 8\n"),
}

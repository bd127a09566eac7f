"""What training programs write, line by line, for texts of any length in every dialect: fuzzing mutates them, the
benchmark makes large files of them. Numbers are drawn, so that no two lines are the same.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from random import Random
from typing import Callable, Mapping, NamedTuple

from rackmark.dialects.dialect import Dialect
from rackmark.dialects.template import Field, Literal, Template


class Lines(NamedTuple):
    """`of` gives what is written about one interval, by its number from 1 on; `begin` and `end` are written once."""

    of: Callable[[int, Random], str]
    begin: str = ""
    end: str = ""


_BEGIN = datetime(2020, 9, 15, 14, 29, 13)


def _now(number: int, chance: Random) -> datetime:
    return _BEGIN + timedelta(seconds=0.36 * number, microseconds=chance.randrange(1000))


def _comma(number: int, chance: Random) -> str:
    """As Python's logging writes the time."""
    now = _now(number, chance)
    return f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d}"


def _rate(chance: Random) -> float:
    return chance.uniform(370, 380)


def _loss(chance: Random) -> float:
    return chance.uniform(0.5, 9.9)


def _mindspore(number: int, chance: Random) -> str:
    ms = chance.uniform(3450, 3460)
    return (
        f"epoch: {number} step: 10, loss is {_loss(chance):5.3f}\n"
        f"epoch time: {ms:5.3f} ms, per step time: {ms / 10:5.3f} ms\n"
    )


def _rackmark(number: int, chance: Random) -> str:
    seconds = chance.uniform(0.2, 0.3)
    record = {"event": "step", "time": 1.6e9 + number * 0.25 + seconds / 100, "step": number, "samples": 32}
    return "RACKMARK " + json.dumps({**record, "seconds": seconds, "loss": _loss(chance)}) + "\n"


def _time_history(number: int, chance: Random) -> str:
    now = _now(number * 100, chance)
    return (
        f"I{now:%m%d %H:%M:%S.%f} 140512 keras_utils.py:145] TimeHistory: {chance.uniform(38, 39):.2f} seconds,"
        f" {_rate(chance):.2f} examples/second between steps {number * 100 - 100} and {number * 100}\n"
        f"I{now:%m%d %H:%M:%S.%f} 140512 controller.py:39] step = {number * 100}: words of no interest\n"
    )


def _tensorflow2_bert(number: int, chance: Random) -> str:
    now = _now(number, chance)
    return (
        f"I{now:%m%d %H:%M:%S.%f} 14 model_training_utils.py:450] Train Step: {number}/1000000  / loss ="
        f" {_loss(chance)}\n"
    )


def _dll_resnet(number: int, chance: Random) -> str:
    return (
        f"DLL {_now(number, chance)} - Epoch: 0 Iteration: {number}  train.loss : {_loss(chance):.5f}"
        f"  train.total_ips : {_rate(chance):.2f} img/s\n"
    )


def _dll_bert(number: int, chance: Random) -> str:
    return (
        f"DLL {_now(number, chance)} - Training Epoch: 0 Training Iteration: {number}  average_loss :"
        f" {_loss(chance)}  step_loss : {_loss(chance)}  learning_rate : 0.0004\n"
    )


def _dll_tensorflow(number: int, chance: Random) -> str:
    return (
        f"DLL {_now(number, chance)} - (0, {number}) imgs_per_sec : {_rate(chance)}  cross_entropy :"
        f" {_loss(chance)}  l2_loss : 1.3796  total_loss : {_loss(chance)}  learning_rate : 0.05\n"
    )


def _dll_tensorflow_bert(number: int, chance: Random) -> str:
    return (
        f"DLL {_now(number, chance)} - Iteration: {number}  throughput_train : {_rate(chance):.3f} seq/s mlm_loss :"
        f" {_loss(chance):.4f}  nsp_loss : {_loss(chance):.4f}  total_loss : {_loss(chance):.4f}"
        "  avg_loss_step : 10.3  learning_rate : 7.5e-05  loss_scaler : 67108864\n"
    )


def _pytorch(number: int, chance: Random) -> str:
    epoch, step = divmod(number, 5005)
    seconds, loss = chance.uniform(0.3, 0.4), _loss(chance)
    return (
        f"Epoch: [{epoch}][{step:4d}/5005]\tTime {seconds:6.3f} ({0.35:6.3f})\tData {0.001:6.3f} ({0.02:6.3f})\t"
        f"Loss {loss:.4e} ({loss:.4e})\tAcc@1 {chance.uniform(0, 99):6.2f} ({50:6.2f})\tAcc@5 {70:6.2f} ({70:6.2f})\n"
    )


def _gluon(number: int, chance: Random) -> str:
    return (
        f"INFO:root:Epoch[0] Batch[{number}] Loss[{_loss(chance):.3f}]\n"
        f"INFO:root:Epoch[0] Rank[0] Batch[{number}]\taccuracy=0.001953\tlr=0.001000\n"
        f"INFO:root:Epoch[0] Batch[{number}]\tSpeed: {_rate(chance):.2f} samples/sec\n"
    )


def _mxnet_ngc(number: int, chance: Random) -> str:
    step = number // 8
    return (
        f"{_comma(step, chance)}:INFO: Epoch[0] Batch [{step}-{step}]\tSpeed: {_rate(chance)} samples/sec\tLR: 0.05\n"
    )


def _mxnet_bert(number: int, chance: Random) -> str:
    latency = chance.uniform(200, 220)
    return (
        f"INFO:root:[step {number // 8 + 1}]\tmlm_loss={_loss(chance):.5f}\tmlm_acc=2.3\tnsp_loss= 0.69\tnsp_acc= 51.2"
        f"\tthroughput=4.1K tks/s\tlr=0.0001000 time={latency / 1000:.2f}, latency={latency:.1f} ms/batch\n"
    )


def _speedometer(number: int, chance: Random) -> str:
    return (
        f"INFO:root:Epoch[0] Batch [{number * 20 - 20}-{number * 20}]\tSpeed: {_rate(chance):.2f} samples/sec"
        f"\tacc=0.000000\tlossvalue={_loss(chance):.6f}\n"
    )


def _partial_fc(number: int, chance: Random) -> str:
    return (
        f"INFO:root:Iter:{number} Rank:{_rate(chance):.2f} it/sec Total:{8 * _rate(chance):.2f} it/sec"
        f" [0][loss]:{_loss(chance):.2f}\n"
    )


def _paddle(number: int, chance: Random) -> str:
    return (
        f"{_comma(number, chance)}-INFO: [Pass 0, train batch {number}] \tloss {_loss(chance):.5f}, acc1"
        f" {chance.random():.5f}, acc5 {chance.random():.5f}, lr 0.10000, elapse {chance.uniform(0.3, 0.4):.4f} sec\n"
    )


def _paddle_elapse(number: int, chance: Random) -> str:
    return _paddle(number, chance).split("INFO: ")[1]


def _paddle_bert(number: int, chance: Random) -> str:
    return (
        f"epoch: 0, progress: 1/1, step: {number}, loss: {_loss(chance):.6f}, ppl: {chance.uniform(5000, 9999):.4f},"
        f" next_sent_acc: {chance.random():.5f}, speed: {chance.uniform(2, 3):.3f} steps/s, file: part-00000.gz\n"
    )


def _oneflow_cnn(number: int, chance: Random) -> str:
    return (
        f"train: epoch 0, iter {number}, loss: {_loss(chance):.6f}, top_1: {chance.random():.6f}, top_k: 1.000000,"
        f" samples/s: {_rate(chance):.3f} {1.6e9 + number / 3 + chance.random() / 100}\n"
    )


def _oneflow_bert(number: int, chance: Random) -> str:
    stamp = 1.6e9 + number / 3 + chance.random() / 100
    return _oneflow_bert_rate(number, chance).rstrip("\n") + f" {stamp}\n"


def _oneflow_bert_rate(number: int, chance: Random) -> str:
    return (
        f"step: {number - 1}, total_loss: {_loss(chance):.3f}, mlm_loss: {_loss(chance):.3f}, nsp_loss: 0.679,"
        f" throughput: {_rate(chance):.3f}\n"
    )


def _insightface(number: int, chance: Random) -> str:
    return f"train: iter {number}, loss {_loss(chance):.2f}, throughput: {_rate(chance):.3f}\n"


def _wide_deep(number: int, chance: Random) -> str:
    return f"{number * 100} time {1.6e9 + number / 3 + chance.random() / 100} loss {chance.random()}\n"


def _wide_deep_models(number: int, chance: Random) -> str:
    return (
        f"[rank:0] iter: {number * 100}/1000000, loss: {chance.random()}, latency(ms): {chance.uniform(2, 3)} |"
        f" {_now(number, chance)}\n"
    )


def _oneflow_gpt(number: int, chance: Random) -> str:
    return (
        f"| {number:<8} | {number * 32:<15} | {number * 512:<15} | {_rate(chance):<15.5f} |"
        f" {chance.uniform(13, 14):<10.5f} | {_loss(chance):<10.5f} |\n"
    )


def _hugectr(number: int, chance: Random) -> str:
    return (
        f"[HUGECTR][02:51:{number % 60:02d}][INFO][RANK0]: Iter: {number * 100} Time(100 iters):"
        f" {chance.uniform(0.2, 0.3):.6f}s Loss: {chance.random():.6f} lr:0.001000\n"
    )


def _deepspeed(number: int, chance: Random) -> str:
    return (
        f"[{_comma(number, chance)}] [INFO] [timer.py:260:stop] epoch=0/micro_step={number}/global_step={number},"
        f" RunningAvgSamplesPerSec={_rate(chance)}, CurrSamplesPerSec={_rate(chance)}, MemAllocated=2.4GB\n"
    )


def _deepspeed_old(number: int, chance: Random) -> str:
    return (
        f"[{_comma(number, chance)}] [INFO] [timer.py:157:stop] 0/{number}, SamplesPerSec={_rate(chance)}\n"
        f"[{_comma(number, chance)}] [INFO] [logging.py:68:log_dist] [Rank 0] step={number}, skipped=0, lr=[0.00015]\n"
    )


def _megatron(number: int, chance: Random) -> str:
    return (
        f" iteration {number:8d}/ 1000000 | consumed samples: {number * 32:12d} | elapsed time per iteration (ms):"
        f" {chance.uniform(290, 300):.1f} | learning rate: 1.500E-04 | global batch size:    32 | lm loss:"
        f" {_loss(chance):.6E} | loss scale: 1.0 | grad norm: {chance.random():.3f} | number of nan iterations:   0 |\n"
    )


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
        "loss": _loss(chance),
        "global_steps": number,
        "num_trained_samples": 256 * number,
        "throughput": _rate(chance),
    }
    return record("STEP_BEGIN", {"step": number}) + record("STEP_END", value)


def _mlperf(number: int, chance: Random) -> str:
    def line(key: str, value: object, **metadata: object) -> str:
        event = {"namespace": "", "time_ms": 1700000000000 + 60000 * number + chance.randrange(1000)}
        kind = {"event_type": "POINT_IN_TIME", "key": key, "value": value}
        return f":::MLLOG {json.dumps({**event, **kind, 'metadata': {'file': 'train.py', 'lineno': 12, **metadata}})}\n"

    batches = "".join(
        f"{_comma(number, chance)} Node[0] Epoch[{number}] Batch [{batch}-{batch + 19}]\tSpeed: {_rate(chance):.2f}"
        f" samples/sec\taccuracy={chance.random():.6f}\n"
        for batch in range(0, 200, 20)
    )
    return (
        batches
        + line("epoch_start", None, epoch_num=number)
        + line("tracked_stats", {"throughput": _rate(chance)}, step=number)
        + line("eval_accuracy", chance.random(), epoch_num=number)
        + line("epoch_stop", None, epoch_num=number)
    )


def _nccl(number: int, chance: Random) -> str:
    size, algbw = 1 << (10 + number % 20), chance.uniform(20, 23)
    row = f"{size:>12} {size // 4:>13}     float     sum      -1"
    return row + f"  {size / algbw / 1e3:7.2f} {algbw:7.2f} {algbw * 1.75:7.2f}      0" * 2 + "\n"


def _ais_bench(number: int, chance: Random) -> str:
    training = "".join(
        f"[INFO] {_now(number, chance)} rank {number % 16}: step {step}, loss {_loss(chance):.4f}\n"
        for step in range(20)
    )
    return (
        f"{training}[{_now(number, chance)}] url:s3:/out/V1/ranksize.json read ranksize:16\n"
        f"rankid:{number % 16} url:s3:/out/V1/throughput_{number % 16}.json read throughput:{_rate(chance)}\n"
    )


def _ais_bench_ranks(number: int, chance: Random) -> str:
    begin = 1.6e9 + number
    training = "".join(f"step: {step} of 2502, loss is {_loss(chance):.4f}\n" for step in range(0, 2502, 50))
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
            f"{step}/600 [{'=' * (step // 20):.<30}] - ETA: 3:19 - loss: {_loss(chance):.4f} - accuracy: 0.1203\n"
            for step in range(10, 600, 10)
        )
        + f"600/600 [{'=' * 30}] - {seconds:.0f}s {seconds / 0.6:.0f}ms/step - loss: {_loss(chance):.4f}\n"
    )


def _horovod(number: int, chance: Random) -> str:
    return f"Iter #{number - 1}: {_rate(chance):.1f} img/sec per GPU\n"


_ONEFLOW = "num_nodes = 1\ngpu_num_per_node = 8\nbatch_size_per_device = 128\nmodel = resnet50\nuse_fp16 = False\n"
_DLL_PARAMETERS = (
    "DLL 2020-09-15 14:29:10.473765 - PARAMETER data : /data batch_size : 128  arch : resnet50  world_size : 8 "
    " batch_size_per_gpu : 32  gradient_accumulation_steps=4\n"
)

LINES: Mapping[str, Lines] = {
    "mindspore": Lines(_mindspore),
    "rackmark": Lines(_rackmark, 'RACKMARK {"event": "start", "model": "resnet50", "batch": 32, "world_size": 1}\n'),
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


def text_of(dialect: Dialect, count: int, seed: int = 0) -> str:
    """With lines made of its templates where the table has none."""
    chance = Random(seed)
    known = LINES.get(dialect.name)
    if known is None:
        return "".join(_of_templates(dialect, number, chance) for number in range(1, count + 1))
    return known.begin + "".join(known.of(number, chance) for number in range(1, count + 1)) + known.end


def _of_templates(dialect: Dialect, number: int, chance: Random) -> str:
    lines = [
        (_filled(one.head, number, chance) + " " if one.head else "") + _filled(one.line, number, chance)
        for one in dialect.kinds
    ]
    return "".join(f"{line}\n" for line in lines)


def _filled(template: Template, number: int, chance: Random) -> str:
    words = {"float": f"{_loss(chance):.4f}", "int": str(number), "word": "word", "rest": '{"a": 1}'}
    return "".join(
        part.text.decode() if isinstance(part, Literal) else words[part.kind] if isinstance(part, Field) else " "
        for part in template.parts
    )

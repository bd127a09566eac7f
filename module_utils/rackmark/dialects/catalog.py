"""All dialects, in the order in which they are tried."""

from __future__ import annotations

from typing import Sequence

from ..logs.dialect import Dialect
from . import (
    ais_bench,
    deepspeed,
    dllogger_summary,
    flagperf,
    fsdp_examples,
    hf_trainer,
    host_tools,
    hpl,
    hugectr,
    keras,
    lightning,
    maxtext,
    mindspore,
    mlperf,
    mxnet,
    nanogpt,
    nccl_tests,
    nemo,
    ngc_pytorch,
    ngc_tensorflow,
    oneflow,
    osu,
    paddle,
    paddle_ips,
    pytorch_examples,
    rackmark,
    serving,
    tensorflow2,
    torchtitan,
)

DIALECTS: Sequence[Dialect] = (
    *rackmark.DIALECTS,
    *flagperf.DIALECTS,
    *mlperf.DIALECTS,
    *ais_bench.DIALECTS,
    *mindspore.DIALECTS,
    *tensorflow2.DIALECTS,
    *dllogger_summary.DIALECTS,
    *ngc_pytorch.DIALECTS,
    *ngc_tensorflow.DIALECTS,
    *pytorch_examples.DIALECTS,
    *mxnet.DIALECTS,
    *paddle.DIALECTS,
    *paddle_ips.DIALECTS,
    *oneflow.DIALECTS,
    *hugectr.DIALECTS,
    *deepspeed.DIALECTS,
    *hf_trainer.DIALECTS,
    *nemo.DIALECTS,
    *torchtitan.DIALECTS,
    *maxtext.DIALECTS,
    *nanogpt.DIALECTS,
    *fsdp_examples.DIALECTS,
    *lightning.DIALECTS,
    *serving.DIALECTS,
    *nccl_tests.DIALECTS,
    *osu.DIALECTS,
    *hpl.DIALECTS,
    *host_tools.DIALECTS,
    *keras.DIALECTS,
)


def dialect_named(name: str) -> Dialect:
    for dialect in DIALECTS:
        if dialect.name == name:
            return dialect
    raise ValueError(f"There is no log dialect {name!r}: the known ones are {', '.join(known_names())}.")


def known_names() -> Sequence[str]:
    return sorted(dialect.name for dialect in DIALECTS)

"""Which dialect a log is in, where it holds lines of several."""

from __future__ import annotations

from pathlib import Path

import pytest
from rackmark.dialects.catalog import DIALECTS
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from shared_data import shared
from unit.analysis_hostile_fixture import states
from unit.framework_logs import deepspeed_steps, hugectr_wdl, megatron, mxnet_gluon, paddle_resnet
from unit.log_fixture import numbers_of, tensorflow_log, write
from unit.mlperf_fixture import LOG

KERAS = "".join(f"Epoch {k}/9\n600/600 - 254s - loss: 6.0332 - accuracy: 0.7849\n" for k in range(1, 10))
PADDLE, MXNET = paddle_resnet([0.5] * 60), mxnet_gluon([400.0] * 600)


def recognised(tmp_path: Path, text: str) -> tuple[str, str | None]:
    path = tmp_path / "a.log"
    path.write_text(text)
    found = recognise(LogFile(path), DIALECTS)
    assert found is not None
    return found.dialect.name, found.other


@pytest.mark.parametrize("text", [PADDLE + MXNET, MXNET + PADDLE])
def test_lines_of_two_formats_are_never_decided_by_their_number(tmp_path: Path, text: str) -> None:
    _, other = recognised(tmp_path, text)
    assert other is not None
    for said in ("two formats", "paddle-resnet", "mxnet-gluon", "-e dialect="):
        assert said in other


def test_a_log_of_two_formats_has_no_number_until_the_operator_says_which(tmp_path: Path) -> None:
    root = write(tmp_path / "logs", {"1n1g/rn50_b128_fp32_1.log": PADDLE + MXNET})
    ((state, reason),) = states(numbers_of(root))
    assert state == "no_data" and reason is not None and "two formats" in reason
    assert states(numbers_of(root, dialect="paddle-resnet")) == [("ok", None)]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ((LOG, hugectr_wdl([0.2] * 900)), "mlperf"),
        ((LOG, KERAS), "mlperf"),
        ((tensorflow_log([40.0] * 5), KERAS), "tensorflow2"),
        ((megatron([300.0] * 5), deepspeed_steps([0.3] * 50)), "megatron"),
    ],
)
def test_records_around_another_program_count_and_a_tool_inside_one_does_not(
    tmp_path: Path, texts: tuple[str, str], name: str
) -> None:
    for text in ("".join(texts), "".join(reversed(texts))):
        assert recognised(tmp_path, text) == (name, None)


def test_the_program_around_a_tool_is_looked_for_beyond_the_first_lines(tmp_path: Path) -> None:
    assert recognised(tmp_path, KERAS + "." * 99 * 5000 + "\n" + PADDLE)[0] == "paddle-resnet"


def test_two_spellings_of_the_same_lines_are_one_format(tmp_path: Path) -> None:
    assert recognised(tmp_path, PADDLE) == ("paddle-resnet", None)


def test_published_logs_of_several_formats_are_those_of_the_benchmark_or_the_trainer() -> None:
    folder = shared("mlperf-more/v3.0/Dell/results/XE8640x4H100-SXM-80GB/dlrm_dcnv2/result_0.txt")
    found = recognise(LogFile(folder), DIALECTS)
    assert found is not None and (found.dialect.name, found.other) == ("mlperf", None)
    found = recognise(LogFile(shared("logs-more/paddle/paddleseg_workerlog.0")), DIALECTS)
    assert found is None or found.dialect.name != "keras"

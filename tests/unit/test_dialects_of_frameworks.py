"""What holds for the dialects of all frameworks alike."""

from __future__ import annotations

import numpy as np
import pytest
from dialect_fixture import measured, read, steps_per_second
from framework_logs import DIALECTS, EXAMPLES
from nccl_log import nccl
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.matching import Matcher

NAMES = sorted(EXAMPLES)
STEADY = {"mxnet-speedometer": 400, "mxnet-gluon": 400, "mxnet-partial-fc": 400, "oneflow-insightface": 400}
STEADY["oneflow-bert-rate"] = 192 * 4


def speed(reading):
    (rank,) = reading.series
    return steps_per_second(reading, rank), measured(reading, rank)


@pytest.mark.parametrize("name", [*NAMES, "nccl-tests"])
def test_a_log_is_recognised_among_all_and_only_by_its_own(tmp_path, name):
    text = nccl() if name == "nccl-tests" else EXAMPLES[name]
    path = tmp_path / "a.log"
    path.write_text(text)
    recognised = recognise(LogFile(path), list(DIALECTS.values()))
    assert recognised is not None and recognised.dialect.name == name
    assert recognised.line in text
    others = {
        other
        for other, dialect in DIALECTS.items()
        if Matcher([kind for kind in dialect.kinds if not kind.name.startswith(("fact", "rest"))]).find(text.encode())
    }
    variants = {"paddle-resnet": {"paddle-resnet-elapse"}, "oneflow-bert": {"oneflow-bert-rate"}}
    assert others == {name, *variants.get(name, ())}


@pytest.mark.parametrize("name", NAMES)
def test_the_slow_begin_is_left_out(tmp_path, name):
    dialect = DIALECTS[name]
    rate, inside = speed(read(tmp_path, EXAMPLES[name], dialect, dialect.warmup, dialect.last))
    assert rate == pytest.approx(STEADY.get(name, 4), rel=1e-6)
    assert dialect.last is None or inside.step[-1] == dialect.last
    assert inside.step[0] - inside.steps[0] == dialect.warmup


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kept", [0.6, 0.8, 0.999])
def test_a_log_cut_off_anywhere_tells_less_but_nothing_else(tmp_path, name, kept):
    dialect, text = DIALECTS[name], EXAMPLES[name]
    full = speed(read(tmp_path, text, dialect, dialect.warmup))[1]
    rate, inside = speed(read(tmp_path, text[: int(len(text) * kept)], dialect, dialect.warmup))
    assert 0 < len(inside) < len(full) + 1
    assert rate == pytest.approx(STEADY.get(name, 4), rel=1e-6)
    np.testing.assert_array_equal(inside.step, full.step[: len(inside)])
    np.testing.assert_allclose(inside.seconds, full.seconds[: len(inside)])


@pytest.mark.parametrize("name", NAMES)
def test_a_torn_last_line_is_no_step(tmp_path, name):
    dialect, text = DIALECTS[name], EXAMPLES[name]
    steps = speed(read(tmp_path, text, dialect))[1].step
    last_line = text.rstrip("\n").rfind("\n") + 1
    torn = text[: last_line + 12]
    assert speed(read(tmp_path, torn, dialect))[1].step[-1] == steps[-2]
    assert read(tmp_path, torn, dialect).faults == []


@pytest.mark.parametrize("name", NAMES)
def test_a_lost_line_makes_no_step_faster(tmp_path, name):
    dialect = DIALECTS[name]
    whole = EXAMPLES[name].splitlines(keepends=True)
    del whole[-4]
    rate, _ = speed(read(tmp_path, "".join(whole), dialect, dialect.warmup))
    assert rate == pytest.approx(STEADY.get(name, 4), rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_windows_line_ends_and_colours_change_nothing(tmp_path, name):
    dialect, text = DIALECTS[name], EXAMPLES[name]
    dressed = text.replace("\n", "\r\n").replace("INFO", "\x1b[32mINFO\x1b[0m")
    assert speed(read(tmp_path, dressed, dialect))[0] == speed(read(tmp_path, text, dialect))[0]

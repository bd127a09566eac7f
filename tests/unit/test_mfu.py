"""Model FLOPS utilisation, and the tables that FlagPerf has published with it."""

from __future__ import annotations

import json
import re
from typing import Iterator

import pytest
from rackmark.flagperf.nominal import mfu_flagperf, nominal_parameters
from rackmark.numbers.mfu import mfu
from shared_data import shared

PEAK = {"A100": 312e12, "A800": 312e12, "H100": 989e12, "H800": 989e12}
Row = dict[str, str]


def test_mfu_is_six_operations_per_parameter_and_token_over_the_peak():
    assert mfu(3100, 7e9, 312e12) == pytest.approx(0.41731, abs=1e-5)


@pytest.mark.parametrize(
    ("model", "framework", "parameters"),
    [
        ("llama2_7b", "deepspeed", 7e9),
        ("llama3_70B", "megatron", 70e9),
        ("gpt3_6.7B", "paddle", 6.7e9),
        ("chatglm3_6b", "deepspeed", 6e9),
        ("aquila2_7b_finetune", "flagscale", 7e9),
        ("qwen1.5_MoE", "megatron", 2.3e9),
        ("mixtral_8x7B_continuetrain", "flagscale", 12e9),
        ("mixtral_8x7B", "megatron", 12.7e9),
        ("mixtral_8x7B", "deepspeed", None),
        ("resnet50", "pytorch", None),
    ],
)
def test_nominal_parameters_are_those_of_the_name(model, framework, parameters):
    assert nominal_parameters(model, framework) == parameters


def test_without_nominal_parameters_there_is_no_mfu():
    assert mfu_flagperf(1000, "resnet50", "pytorch", 312e12) is None


def published() -> Iterator[tuple[str, Row]]:
    """Each row with the folder it is from."""
    for table in json.loads(shared("flagperf/flagperf_published_results.json").read_text())["tables"]:
        for row in table["rows"]:
            yield table["path"], dict(zip(table["header"], row))


def number(cell: str | None) -> float | None:
    return float(cell) if cell and re.fullmatch(r"\d+(\.\d+)?", cell) else None


def with_rates() -> list[tuple[str, Row, list[float]]]:
    rows = (
        (path, row, [number(row.get(name)) for name in ("p_whole", "p_train", "p_core")]) for path, row in published()
    )
    return [(path, row, [rate for rate in rates if rate]) for path, row, rates in rows if all(rates)]


def test_less_time_counted_gives_more_in_every_published_row():
    rows = with_rates()
    assert len(rows) == 97
    assert all(rates == sorted(rates) for _, _, rates in rows)


# By tokens/s. The first two are misprints; the others have a peak of 495 TFLOPS in TF32, weights that are not trained
# (4 operations per parameter), and 12e9 parameters where the program has 12.7e9.
OTHERS = {
    3306.5: (50.0, 50.87),
    4047.0: (54.6, 54.48),
    253.61: (21.5, 10.77),
    4017.0: (36.1, 54.07),
    2844.0: (20.7, 21.91),
}


def test_the_published_mfu_follow_from_tokens_and_nominal_parameters():
    others, alike = {}, 0
    for path, row in published():
        tokens, stated = number(row.get("token/p/s")), number((row.get("MFU") or "").rstrip("%"))
        made_with = row.get("\u914d\u7f6e", "")  # the column of the configuration
        device = re.search("|".join(PEAK), made_with)
        if "/nvidia/" not in path or not tokens or not stated or device is None or "pretrain" in made_with:
            continue
        model, _, framework = path.split("/")[2].partition("-")
        computed = 100 * (mfu_flagperf(tokens, model, framework, PEAK[device[0]]) or 0)
        if abs(computed - stated) <= 0.11:
            alike += 1
        else:
            others[tokens] = (stated, round(computed, 2))
    assert (alike, others) == (32, OTHERS)
    assert 100 * mfu(253.61, 70e9, 495e12) == pytest.approx(21.5, abs=0.11)
    assert 100 * mfu(2844, 12e9, PEAK["H100"]) == pytest.approx(20.7, abs=0.11)
    assert 100 * mfu(4017, 7e9, PEAK["A100"]) * 4 / 6 == pytest.approx(36.1, abs=0.11)

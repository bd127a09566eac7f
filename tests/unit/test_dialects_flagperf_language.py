"""FlagPerf's logs of language models: tokens, MFU and the divisions that went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialect_fixture import read
from unit.flagperf_log_fixture import DIALECT, language_model, read_at, states

LLAMA = "llama2_7b:deepspeed:A100:{}:8:1/round1/node_noderank0/rank0.log.txt"


def test_a_language_model_states_tokens_and_mfu(tmp_path: Path) -> None:
    reading = read(tmp_path, language_model(999, 9, "0.1") + language_model(24800.0, 3100.0, "0.4173"), DIALECT)
    assert reading.faults == []
    assert reading.stated == {"throughput": 24800.0, "tokens_per_s_device": 3100.0, "mfu_flagperf": 0.4173}
    assert reading.facts["unit"] == "tokens/s"


def test_a_language_model_on_several_nodes_has_its_division_corrected(tmp_path: Path) -> None:
    text = language_model(49600.0, 49600.0 / 8 * 2, str(4 * 0.4173))
    reading = read_at(tmp_path, LLAMA.format(2), text)
    assert reading.stated["throughput"] == 49600.0
    assert reading.stated["mfu_flagperf"] == pytest.approx(0.4173)
    assert "on 16 devices are 3100" in reading.remarks[0]


def test_an_mfu_that_is_cut_off_follows_from_the_parameters_in_the_name(tmp_path: Path) -> None:
    text = language_model(24800.0, 3100.0, "0.41")[: -len("0.41\n")]
    assert "mfu_flagperf" not in read(tmp_path, text, DIALECT).stated
    stated = read_at(tmp_path, LLAMA.format(1), text).stated
    assert stated["mfu_flagperf"] == pytest.approx(3100 * 6 * 7e9 / 312e12)


def test_an_mfu_that_does_not_follow_from_the_parameters_is_remarked(tmp_path: Path) -> None:
    reading = read_at(tmp_path, LLAMA.format(1), language_model(24800.0, 3100.0, "0.9"))
    assert reading.stated["mfu_flagperf"] == 0.9
    assert "from parameters and theory it is 0.4173" in reading.remarks[0]


def test_tokens_of_a_step_that_are_called_per_second_are_divided(tmp_path: Path) -> None:
    reading = read(tmp_path, language_model(16384.0, 1024.0, "0.1", "avg_iter_time(s): 2.0"), DIALECT)
    assert reading.stated["throughput"] == 8192.0


def test_a_language_model_that_found_no_step_time_has_no_number(tmp_path: Path) -> None:
    reading = read(tmp_path, language_model(-2097152.0, -262144.0, "-35.0"), DIALECT)
    assert states(reading) == ["no_data"]
    assert reading.stated == {}

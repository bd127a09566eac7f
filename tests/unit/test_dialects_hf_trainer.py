"""Hugging Face's Trainer."""

from __future__ import annotations

import pytest
from framework_logs import DIALECTS, lines
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.run.cases import Case
from shared_data import shared
from unit.judged_log import judged, judged_file

SETTINGS = lines(
    [
        "***** Running training *****",
        "  Num examples = 6,400",
        "  Instantaneous batch size per device = 4",
        "  Total train batch size (w. parallel, distributed & accumulation) = 64",
        "  Gradient Accumulation steps = 2",
        "  Total optimization steps = 100",
    ]
)


def trained(rate="128.0", seconds="50.0", quoted=False):
    def shown(entries):
        return "{" + ", ".join(f"'{name}': {one!r}" if quoted else f"'{name}': {one}" for name, one in entries) + "}"

    steps = [
        shown([("loss", f"{3 - step / 100}"), ("learning_rate", "1e-05"), ("epoch", "0.1")])
        for step in range(0, 100, 10)
    ]
    end = [("train_runtime", seconds), ("train_samples_per_second", rate), ("train_steps_per_second", "2.0")]
    return lines([*steps, shown([*end, ("train_loss", "2.5"), ("epoch", "1.0")])])


@pytest.mark.parametrize("quoted", [False, True])
def test_the_trainers_own_sum_is_the_result_and_its_settings_say_who_took_part(tmp_path, quoted):
    result = judged(tmp_path, SETTINGS + trained(quoted=quoted), case=None)
    assert (result.case, result.state, result.throughput, result.loss) == ("1n8g", "ok", 128.0, 2.5)
    assert result.measures["train_s"] == 50


def test_a_folder_of_another_size_than_its_settings_is_a_contradiction(tmp_path):
    assert judged(tmp_path, SETTINGS + trained(), case="2n8g").state in ("wrong_world_size", "rule_failed")


def test_of_all_ranks_the_last_to_end_counts_and_two_trainings_are_not_one(tmp_path):
    both = trained("128.0") + trained("127.9", "50.04")
    assert judged(tmp_path, SETTINGS + both).throughput == 127.9
    two = judged(tmp_path, SETTINGS + trained("128.0") + trained("99.0"))
    assert (two.state, two.throughput) == ("incomplete", None)


def test_without_its_sum_the_training_is_incomplete(tmp_path):
    cut = trained().splitlines(keepends=True)[:-1]
    assert judged(tmp_path, SETTINGS + "".join(cut)).state == "incomplete"


@pytest.mark.parametrize("quoted", [False, True])
def test_a_loss_that_is_no_number_is_seen(tmp_path, quoted):
    text = trained(quoted=quoted).replace("2.9", "nan")
    assert judged(tmp_path, SETTINGS + text).state == "nan_loss"


def test_the_published_logs_give_what_they_state():
    folder = shared("logs-more/hf-trainer")
    result = judged_file(folder / "hf_ds_gpt2_base_n4-1832555.out", case=Case(4, 4))
    assert (result.state, result.throughput) == ("ok", 1.088)
    assert result.measures["train_s"] == 919.097
    result = judged_file(folder / "hf_ds_gpt2_perf_n16_bs4-mbs8.out", case=Case(16, 4))
    assert (result.state, result.throughput) == ("ok", 3.663)
    other = judged_file(folder / "hf_ds_gpt2_perf_n16_bs4-mbs8.out", case=Case(1, 8))
    assert other.state == "wrong_world_size"  # DeepSpeed's settings in it name 64 processes


def test_a_dictionary_with_a_loss_makes_no_trainer_of_another_log(tmp_path):
    text = "{'accuracy_top_1': 0.76, 'loss': 1.9, 'training_accuracy_top_1': 1}\n"
    (tmp_path / "a.log").write_text(text + "{'total_training_steps': 120, 'train_loss': 9.1}\n")
    assert recognise(LogFile(tmp_path / "a.log"), [DIALECTS["hf-trainer"]]) is None


def test_a_training_that_died_is_known_by_its_steps(tmp_path):
    died = "{'loss': 2.3, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.5}\n" * 3
    assert judged(tmp_path, died).state == "incomplete"

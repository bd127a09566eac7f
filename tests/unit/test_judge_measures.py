"""Measures, rules and targets that a workload declares."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rackmark.run.measures import Measure
from rackmark.run.rules import condition
from unit.judged import ASKED, CASE, judged
from unit.run_fixture import BATCH, STARTED, event, start_line, write_repeat


@pytest.fixture
def folder(tmp_path):
    write_repeat(tmp_path / "r1", CASE, seconds=0.5)
    return tmp_path / "r1"


def asked_for(**changes):
    return replace(ASKED, **changes)


def say(folder, rank, name, **facts):
    with (folder / f"rank-{rank}.log").open("a") as log:
        log.write(event(name, STARTED + 100, **facts) + "\n")


TOKENS = Measure("tokens", "tokens/s", "higher", "stated.tokens", "sum")


def test_what_processes_state_becomes_one_number(folder):
    for rank in range(4):
        say(folder, rank, "stated", tokens=10 + rank)
    asked = asked_for(measures={**ASKED.measures, "tokens": TOKENS, "most": replace(TOKENS, name="most", over="max")})
    measures = judged(folder, asked).measures
    assert (measures["tokens"], measures["most"]) == (46, 13)
    assert measures["throughput"] == judged(folder).throughput


@pytest.mark.parametrize(("said", "shown"), [("5120", '"5120"'), (float("nan"), "NaN"), (True, "true"), ([1], "[1]")])
def test_a_measure_that_is_stated_as_no_number_is_told(folder, said, shown):
    say(folder, 0, "stated", tokens=said, reason="because")
    asked = asked_for(measures={**ASKED.measures, "tokens": TOKENS})
    result = judged(folder, asked)
    assert (result.state, result.missing) == (
        "ok",
        {"tokens": f"The log states {shown} as tokens, which is no number."},
    )
    say(folder, 0, "stated", tokens=7)
    assert judged(folder, asked).measures["tokens"] == 7


def test_a_measure_that_nobody_stated_is_null_with_a_reason(folder):
    result = judged(folder, asked_for(measures={**ASKED.measures, "tokens": TOKENS}))
    assert (result.state, result.measures["tokens"]) == ("ok", None)
    assert result.missing == {"tokens": "No log states tokens."}


def test_a_measure_that_is_null_has_the_reason_that_the_program_gives(folder):
    say(folder, 0, "stated", tokens=None, reason="The tokens were not counted.")
    result = judged(folder, asked_for(measures={**ASKED.measures, "tokens": TOKENS}))
    assert (result.state, result.measures["tokens"]) == ("ok", None)
    assert result.missing == {"tokens": "The tokens were not counted."}


def test_without_its_headline_a_repeat_has_no_data(folder):
    result = judged(folder, asked_for(measures={"tokens": TOKENS}, headline="tokens"))
    assert (result.state, result.reason) == ("no_data", "There is no tokens. No log states tokens.")


def test_a_rule_that_holds_says_nothing_and_one_that_does_not_says_what_was(folder):
    assert judged(folder, asked_for(rules=[condition("throughput >= 1"), condition("precision >= bf16")])).state == "ok"
    result = judged(folder, asked_for(rules=[condition("throughput >= 1e9")]))
    assert result.state == "rule_failed" and result.throughput is None
    assert result.reason.startswith("The rule throughput >= 1000000000 does not hold: throughput is 62.")


def test_how_long_a_job_ran_is_what_its_records_say(folder):
    assert judged(folder, asked_for(rules=[condition("minutes >= 1")])).state == "ok"  # job.json has 60 s
    result = judged(folder, asked_for(rules=[condition("hours >= 1")]))
    assert result.reason == "The rule hours >= 1 does not hold: hours is 0.0166667."


def evaluations(folder, *accuracies):
    """After every second step, by rank 0, and the others wait."""
    for rank in range(4):
        lines, now = [start_line(CASE, rank)], STARTED
        for step in range(1, 7):
            now += 1
            lines.append(event("step", now, step=step, samples=BATCH, seconds=1.0, loss=1.0))
            if step % 2 == 0:
                now += 2
                accuracy = accuracies[step // 2 - 1]
                record = event("eval", now, step=step, seconds=2.0, images=10, accuracy=accuracy, loss=1.0)
                lines += [record] if rank == 0 else []
        (folder / f"rank-{rank}.log").write_text("\n".join(lines) + "\n")


def test_the_time_to_the_target_ends_with_the_first_evaluation_that_reached_it(folder):
    evaluations(folder, 0.5, 0.75, 0.7)
    result = judged(folder, asked_for(measure="target", target=condition("accuracy >= 0.72")))
    assert (result.state, result.time_to_train_s) == ("ok", pytest.approx(8))  # four steps and two evaluations


MISSED = "The target accuracy >= 0.72 was not reached: the best accuracy was 0.71, after step 4."
TIME = Measure("time_to_train", "s", "lower", "time_to_target")


def asked_for_a_target(**changes):
    measures = {**ASKED.measures, "time_to_train": TIME}
    target = condition("accuracy >= 0.72")
    return asked_for(
        **{"measure": "target", "target": target, "measures": measures, "warmup": 0, "steps": 6, **changes}
    )


def test_a_target_that_was_missed_is_a_result_without_a_time_and_says_how_near_it_was(folder):
    evaluations(folder, 0.5, 0.71, 0.7)
    result = judged(folder, asked_for_a_target())
    assert (result.state, result.converged, result.time_to_train_s) == ("ok", False, None)
    assert result.missing == {"time_to_train": MISSED}
    assert result.throughput is not None


def test_a_target_that_was_reached_is_converged_and_without_one_nobody_says(folder):
    evaluations(folder, 0.5, 0.75, 0.7)
    result = judged(folder, asked_for_a_target())
    assert (result.converged, result.measures["time_to_train"]) == (True, pytest.approx(8))
    assert judged(folder, asked_for(warmup=0, steps=6)).converged is None


@pytest.mark.parametrize("changes", [{"require_target": True}, {"headline": "time_to_train"}])
def test_a_target_that_has_to_be_reached_breaks_the_rule_when_missed(folder, changes):
    evaluations(folder, 0.5, 0.71, 0.7)
    result = judged(folder, asked_for_a_target(**changes))
    assert (result.state, result.converged, result.reason) == ("rule_failed", False, MISSED)


def test_a_training_that_gives_up_before_its_last_step_is_incomplete(folder):
    evaluations(folder, 0.5, 0.71, 0.7)
    result = judged(folder, asked_for_a_target(steps=300))
    assert (result.state, result.converged) == ("incomplete", None)
    assert result.reason == f"{MISSED} Only 6 of 300 steps were done."

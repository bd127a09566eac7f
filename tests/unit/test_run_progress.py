from __future__ import annotations

import json
from dataclasses import replace

from rackmark.run.job_state import JobState
from rackmark.run.run_progress import progress
from unit.plan_fixture import plan_of


def step(number, seconds=0.5):
    event = {"event": "step", "time": 1.0, "step": number, "samples": 8, "seconds": seconds, "loss": 7.0}
    return f"RACKMARK {json.dumps(event)}\n"


def state(word, start=None, end=None, reason=None):
    return JobState(1, "a job", word, reason, start=start, end=end)


def states_of(plan, *states):
    return {job.name: each for job, each in zip(plan.jobs, states)}


def logs_of(jobs, head, tail):
    return {one.name: (head.encode(), tail.encode()) for one in jobs}


def test_the_running_job_shows_the_rate_of_all_ranks_and_the_time_left():
    log = f'noise\n{step(2)}{step(3)}RACKMARK {{"event": "step", "st'
    plan = plan_of("2n1g", "1n1g", "4n1g")
    states = states_of(plan, state("RUNNING"), state("COMPLETED", 100.0, 130.0), state("PENDING", reason="Dependency"))
    shown = progress(plan, states, logs_of(plan.jobs[:1], log, ""))
    assert shown == "1 of 3 jobs done, about 34 s left; 2n1g r1 step 3/10, 32 samples/s; 1 waiting"


def test_a_progress_bar_that_ends_no_line_hides_no_step():
    """As tqdm writes one: over itself, and the next line of the program comes right behind it."""

    def bars(number):
        return "".join(f"\r {number * 10 + part}%|###      | {number}/10 [00:01<00:01,  3.99it/s]" for part in range(4))

    head = "".join(bars(number) + step(number) for number in (1, 2))
    tail = f"#  | 3/10 [00:01<00:01{step(3)}{bars(4)}\r{step(4, seconds=0.25)}{bars(5)}"
    plan = plan_of("1n1g")
    shown = progress(plan, states_of(plan, state("RUNNING")), logs_of(plan.jobs, head, tail))
    assert shown == "0 of 1 jobs done, about 3 s left; 1n1g r1 step 4/10, 32 samples/s"


def test_no_time_is_promised_before_anything_is_known():
    plan = plan_of("1n1g", "2n1g")
    states = states_of(plan, state("RUNNING"), state("PENDING"))
    assert progress(plan, states, logs_of(plan.jobs[:1], "", "")) == "0 of 2 jobs done; 1n1g r1 starting; 1 waiting"


def test_slurms_reason_is_shown_where_everything_waits():
    plan = plan_of("1n1g")
    shown = progress(plan, states_of(plan, state("PENDING", reason="Resources")), {})
    assert shown == "0 of 1 jobs done; 1 waiting (Resources)"


def test_a_job_whose_nodes_are_freed_does_not_wait():
    plan = plan_of("1n1g", "2n1g")
    states = states_of(plan, state("COMPLETING", reason="NonZeroExitCode"), state("PENDING", reason="Dependency"))
    assert progress(plan, states, {}) == "0 of 2 jobs done; 1 ending; 1 waiting"


def test_begin_and_end_of_a_long_log_are_enough():
    head, tail = f"{step(1)}{step(2)}RACKMARK {{", f'ds": 0.5}}\n{step(1999)}{step(2000, seconds=0.25)}'
    plan = plan_of("1n1g", steps=2498)
    shown = progress(plan, states_of(plan, state("RUNNING")), logs_of(plan.jobs, head, tail))
    assert "step 2000/2500, 32 samples/s" in shown


def test_of_more_jobs_than_a_line_has_room_for_the_number_is_said():
    plan = plan_of("1n1g", "2n1g", "3n1g")
    assert progress(plan, states_of(plan, *[state("RUNNING")] * 3), logs_of(plan.jobs[:2], "", "")) == (
        "0 of 3 jobs done; 1n1g r1 starting; 2n1g r1 starting; 1 more running"
    )


def test_lines_without_samples_count_the_batch_that_was_planned():
    line = "epoch: 1 step: {0}, loss is 6.9\nepoch time: 500.000 ms, per step time: 250.000 ms\n"
    plan = replace(plan_of("1n2g"), dialect="mindspore")
    shown = progress(plan, states_of(plan, state("RUNNING")), logs_of(plan.jobs, "".join(map(line.format, (2, 4))), ""))
    assert "64 samples/s" in shown  # two devices, a batch of 8 each, four steps in a second


def test_before_a_job_is_done_those_that_wait_take_as_long_as_the_one_that_runs():
    """It began 20 s ago, of which 3 steps took 1.5; the other two do 10 steps of 0.5 s each after 18.5 s, too."""
    plan = plan_of("1n1g", "2n1g", "4n1g")
    states = states_of(plan, state("RUNNING", start=1000.0), state("PENDING"), state("PENDING"))
    logs = logs_of(plan.jobs[:1], step(2) + step(3), "")
    assert progress(plan, states, logs, now=1020.0).startswith("0 of 3 jobs done, about 50 s left; 1n1g r1 step 3/10")
    assert progress(plan, states, logs).startswith("0 of 3 jobs done, about 14 s left; ")  # the clock is not known


def test_where_all_share_a_batch_a_step_is_as_long_as_its_part():
    plan = plan_of("1n1g", "2n1g", scaling="strong")
    plan = replace(plan, cases=[plan.cases[0], replace(plan.cases[1], batch_per_device=4)])
    logs = logs_of(plan.jobs[:1], step(2) + step(3), "")
    shown = progress(plan, states_of(plan, state("RUNNING"), state("PENDING")), logs)
    assert shown.startswith("0 of 2 jobs done, about 6 s left; ")  # 7 steps of 0.5 s and 10 of 0.25 s


def test_a_job_that_only_starts_takes_what_is_left_of_what_others_took():
    plan = plan_of("1n1g", "2n1g")
    states = states_of(plan, state("COMPLETED", 100.0, 130.0), state("RUNNING", start=131.0))
    shown = progress(plan, states, logs_of(plan.jobs[1:], "", ""), now=141.0)
    assert shown == "1 of 2 jobs done, about 20 s left; 2n1g r1 starting"


def test_what_is_left_of_jobs_that_do_not_run_is_counted_from_when_they_do():
    plan = plan_of("1n1g", "2n1g")
    states = states_of(plan, state("COMPLETED", 100.0, 130.0), state("PENDING", reason="JobHeldAdmin"))
    assert progress(plan, states, {}) == "1 of 2 jobs done, about 30 s once they run; 1 waiting (JobHeldAdmin)"


def test_a_search_says_how_far_all_of_it_is():
    made = replace(plan_of("2n1g"), measure="search", ranks="node", duration=12 * 3600)
    job = made.jobs[0]
    said = {"event": "progress", "time": 1, "trials": 37, "failed": 0, "running": 4, "best": 0.7131, "gflops": 812.44}
    line = "RACKMARK " + json.dumps({**said, "regulated": 1013.92, "share": 0.414}) + "\n"
    states = {job.name: state("RUNNING", start=0)}
    shown = progress(made, states, {job.name: (b"", line.encode())})
    assert f"{job.case} r1 0.41 of 12 h, 37 trials, 4 training, best 71.3 %, 812.4 GFLOPS, regulated 1013.9" in shown


def test_a_line_says_what_has_room_the_most_useful_first():
    plan = plan_of(*[f"{nodes}n8g" for nodes in range(60, 66)], steps=5998)
    states = states_of(plan, *[state("RUNNING")] * 4, state("COMPLETED", 0.0, 90.0), state("PENDING"))
    logs = logs_of(plan.jobs[:4], step(2) + step(3), "")
    most = progress(plan, states, logs, room=400)
    assert most.startswith("1 of 6 jobs done, about 50 min left; 60n8g r1 step 3/6000, 7680 samples/s; 61n8g")
    assert most.endswith("; 1 waiting")
    fitting = {room: progress(plan, states, logs, room=room) for room in (60, 75, 90, 109, 160)}
    assert all(len(line) <= room for room, line in fitting.items())
    first = "1 of 6 jobs done, about 50 min left; 60n8g r1 step 3/6000"
    assert fitting[60] == first
    assert progress(plan, states, logs, room=85) == f"{first}, 7680 samples/s; 3 more running".replace(" jobs", "")
    assert fitting[75] == f"{first}; 3 more running"
    assert fitting[90] == f"{first}, 7680 samples/s; 3 more running"
    assert fitting[109] == f"{first}, 7680 samples/s; 3 more running; 1 waiting"
    assert fitting[160].endswith("61n8g r1 step 3/6000, 7808 samples/s; 2 more running; 1 waiting")


def test_of_a_training_with_files_of_its_own_the_last_line_is_shown():
    """As of one in the cloud: of its log nothing else is known here."""
    plan = replace(plan_of("1n8g", "2n8g"), result="ais-bench")
    states = states_of(plan, state("RUNNING"), state("PENDING", reason="Pending"))
    shown = progress(plan, states, logs_of(plan.jobs[:1], "", "epoch 1\nepoch 2: loss 0.7\n\n"))
    assert shown == "0 of 2 jobs done; 1n8g r1 says: epoch 2: loss 0.7; 1 waiting"
    long = progress(plan, states, logs_of(plan.jobs[:1], "", "x" * 500))
    assert len(long) < 110 and "says: xxx" in long
    assert progress(plan, states, logs_of(plan.jobs[:1], "", "")) != shown

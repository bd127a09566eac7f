"""A rank or a node that is slower than the others is named, and in healthy runs hardly ever is one."""

from __future__ import annotations

import random

import pytest
from rackmark.numbers.sentences import problems
from rackmark.numbers.stragglers import slow_ones
from rackmark.run.cases import Case
from unit.run_fixture import BATCH, STARTED, WARMUP, event, read_run, start_line, write_run

RUNS = 100


def stretches(chance, ranks, repeats, steps=50, slow=None, by=1.10):
    """As of ranks that are up to a few percent apart, with noise in every step and hiccups now and then."""
    own = {rank: chance.lognormvariate(0, 0.01) * (by if rank == slow else 1) for rank in range(ranks)}

    def step(rank):
        hiccup = chance.uniform(1.5, 4) if chance.random() < 0.02 else 1
        return 0.05 * own[rank] * chance.lognormvariate(0, 0.04) * hiccup

    def middle(values):
        return sorted(values)[len(values) // 2]

    count = min(4, steps // 5)
    return [
        {rank: middle([step(rank) for _ in range(steps // count)]) for rank in own}
        for _ in range(repeats)
        for _ in range(count)
    ]


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 16, 64])
def test_nineteen_of_twenty_stragglers_are_named_and_one_of_twenty_healthy_runs_names_one(ranks, repeats):
    chance = random.Random(ranks * 100 + repeats)
    runs = RUNS if ranks < 64 else RUNS // 4
    named = [slow_ones(stretches(chance, ranks, repeats, slow=ranks - 1)) for _ in range(runs)]
    assert sum(list(found) == [ranks - 1] for found in named) >= 0.95 * runs
    healthy = [slow_ones(stretches(chance, ranks, repeats)) for _ in range(runs)]
    assert sum(bool(found) for found in healthy) <= 0.05 * runs


def test_two_stretches_are_the_fewest():
    assert slow_ones([{0: 1.0, 1: 1.5, 2: 1.0}]) == {}
    assert slow_ones([{0: 1.0, 1: 1.5, 2: 1.0}] * 2) == {1: pytest.approx(0.5)}
    assert slow_ones([]) == slow_ones([{0: 1.0}] * 3) == {}


def test_a_rank_that_is_slow_for_a_while_is_no_straggler():
    calm, slow = {0: 1.0, 1: 1.0, 2: 1.0}, {0: 1.0, 1: 1.5, 2: 1.0}
    assert slow_ones([calm, slow, slow, calm]) == {}


def slow_run(folder, case, slow, repeats=2, steps=40):
    """`slow` says how many times as long a rank takes."""
    parsed = Case.parse(case)
    write_run(folder, {case: [0.5] * repeats}, steps=steps)
    for repeat in range(1, repeats + 1):
        chance = random.Random(repeat)
        for rank in range(parsed.world_size):
            lines, now = [start_line(parsed, rank)], STARTED
            for step in range(1, WARMUP + steps + 1):
                seconds = 0.05 * slow.get(rank, 1) * chance.lognormvariate(0, 0.02)
                now += seconds
                lines.append(event("step", now, step=step, samples=BATCH, seconds=seconds, loss=1.0))
            (folder / f"cases/{case}/r{repeat}/rank-{rank}.log").write_text("\n".join(lines) + "\n")
    return problems(read_run(folder).summary)


def test_a_slow_rank_is_a_sentence(tmp_path):
    (sentence,) = slow_run(tmp_path, "2n2g", {2: 1.10})
    assert sentence in (
        f"2n2g has a straggler: rank 2 on node2 takes {percent} % longer for a step." for percent in (9, 10, 11)
    )


def test_a_slow_node_is_named_instead_of_its_ranks(tmp_path):
    (sentence,) = slow_run(tmp_path, "2n2g", {2: 1.2, 3: 1.2})
    assert sentence.startswith("2n2g has a straggler: node2 takes ")


def test_ranks_that_are_alike_are_nothing_to_speak_of(tmp_path):
    assert slow_run(tmp_path, "2n2g", {}) == []

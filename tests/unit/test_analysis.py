"""Logs of other tools become right numbers, or a state with its reason."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackmark.dialects.catalog import DIALECTS
from unit.analysis_fixture import throughput
from unit.log_fixture import analyzed, case_of, mindspore_log, numbers_of, outcome_of, tensorflow_log, write


def one_log(tmp_path, text, case="1n1g", **said):
    return numbers_of(write(tmp_path / "logs", {f"{case}/rn50_b128_fp32_1.log": text}), **said)


def state(found):
    run = found.summary["cases"][0]["runs"][0]
    return run["state"], run["reason"]


def test_a_log_cut_short_gives_its_own_throughput_or_none_at_all(tmp_path):
    cut = mindspore_log(370.29, steps=400)[:1500]
    assert throughput(one_log(tmp_path, cut, warmup=20)) == pytest.approx(370.29, abs=0.005)
    found = one_log(tmp_path, cut, warmup=20, last=400)
    assert state(found)[0] == "incomplete" and "step 400" in state(found)[1]
    assert found.summary["state"] == "failed"


def test_a_window_ends_where_lines_do_and_says_so(tmp_path):
    found = one_log(tmp_path, mindspore_log(370.29), warmup=95, last=199)
    assert throughput(found) == pytest.approx(370.29, abs=0.005)
    assert any("101 to 190" in problem for problem in found.problems)


def test_a_log_shorter_than_the_warm_up_has_no_number(tmp_path):
    found = one_log(tmp_path, mindspore_log(370, steps=50), warmup=100)
    assert state(found)[0] == "incomplete" and "-e warmup=" in state(found)[1]


def test_lines_of_missing_ranks_are_not_made_up(tmp_path):
    found = one_log(tmp_path, mindspore_log(2962.0, ranks=7), case="1n8g")
    assert state(found) == ("no_log", "1n8g has 8 ranks, the log has lines of 7.")


def test_two_ranks_on_one_line_are_both_counted(tmp_path):
    glued = mindspore_log(740.57, ranks=2).replace("ms\nepoch time", "msepoch time")
    assert throughput(one_log(tmp_path, glued, case="1n2g")) == pytest.approx(740.57, abs=0.01)


def test_one_lost_line_of_many_ranks_is_no_wrong_number(tmp_path):
    lines = mindspore_log(740.57, ranks=2).splitlines(keepends=True)
    del lines[next(index for index, line in enumerate(lines) if "time" in line)]
    assert state(one_log(tmp_path, "".join(lines), case="1n2g"))[0] == "incomplete"


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_n_equal_ranks_have_the_speedup_n(tmp_path, ranks):
    logs = {"1n1g/m_b128_fp32_1.log": mindspore_log(370.29)}
    logs[f"1n{ranks}g/m_b128_fp32_1.log"] = mindspore_log(370.29 * ranks, ranks)
    found = numbers_of(write(tmp_path, logs))
    assert case_of(found, f"1n{ranks}g")["speedup"] == pytest.approx(ranks, rel=1e-5)


def test_twice_the_time_is_half_the_throughput(tmp_path):
    fast = throughput(one_log(tmp_path / "a", tensorflow_log([38.0] * 5)))
    slow = throughput(one_log(tmp_path / "b", tensorflow_log([76.0] * 5)))
    assert fast == pytest.approx(12800 / 38) and slow == pytest.approx(fast / 2)


def test_midnight_and_a_clock_set_back_do_not_change_the_throughput(tmp_path):
    late = one_log(tmp_path / "a", tensorflow_log([40.0] * 5, begin=86400 - 100))
    assert throughput(late) == pytest.approx(320)
    lines = tensorflow_log([40.0] * 5, begin=7200).splitlines()
    turned = [line.replace(" 02:0", " 01:5") if number > 3 else line for number, line in enumerate(lines)]
    set_back = one_log(tmp_path / "b", "\n".join(turned) + "\n")
    assert throughput(set_back) == pytest.approx(320)
    assert any("clock goes back" in problem for problem in set_back.problems)


@pytest.mark.parametrize(
    "dirty",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.splitlines()),
        lambda text: "".join(f"0: {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines()),
        lambda text: text + "epoch: 21 step: 10, loss is 6.9\nepoch time: 3",
        lambda text: b"\x00\xff\xfe" * 50 + b"\n" + text.encode(),
    ],
    ids=["crlf", "colours", "srun -l", "mpirun", "torn", "binary"],
)
def test_dirt_does_not_change_the_number(tmp_path, dirty):
    assert throughput(one_log(tmp_path, dirty(mindspore_log(370.29)))) == pytest.approx(370.29, abs=0.005)


def test_a_loss_that_is_not_a_number_is_no_throughput(tmp_path):
    broken = mindspore_log(370.29).replace("6.910", "nan", 1)
    assert state(one_log(tmp_path, broken)) == ("nan_loss", "The loss of step 10 is not a finite number.")


def test_the_last_words_of_a_broken_log_are_quoted(tmp_path):
    text = mindspore_log(370.29, steps=50) + "RuntimeError: device memory exhausted on <b>card 3</b>\n"
    found = outcome_of(write(tmp_path, {"1n1g/rn50_b128_fp32_1.log": text}), last=200)
    assert "device memory exhausted" in state(found)[1]
    assert b"<b>card 3</b>" not in found.files["report.html"]


def test_without_a_baseline_there_is_no_speedup(tmp_path):
    found = one_log(tmp_path, mindspore_log(740.57, 2), case="1n2g")
    assert case_of(found, "1n2g")["speedup"] is None and found.summary["no_baseline_because"]


def test_batches_and_precisions_are_series_of_their_own(tmp_path):
    logs = {
        f"1n1g/rn50_b{batch}_{precision}_1.log": mindspore_log(370.29, batch=batch)
        for batch, precision in ((128, "fp32"), (256, "fp32"), (256, "fp16"))
    }
    names = [analysis.name for analysis in analyzed(write(tmp_path / "logs", logs))]
    assert len(set(names)) == 3 and all(name.startswith("logs-mindspore-rn50-b") for name in names)


def test_ten_nodes_and_sixteen_devices_are_counted(tmp_path):
    found = one_log(tmp_path, mindspore_log(370.29 * 160, ranks=160, steps=40), case="10n16g")
    assert case_of(found, "10n16g")["world_size"] == 160
    assert throughput(found) == pytest.approx(370.29 * 160, rel=1e-5)


def test_two_dialects_in_a_tree_are_two_series(tmp_path):
    logs = {"1n1g/a_b128_fp32_1.log": mindspore_log(370.29), "1n1g/b_b128_fp32_1.log": tensorflow_log([40.0] * 5)}
    assert [one.manifest.dialect for one in analyzed(write(tmp_path, logs))] == ["mindspore", "tensorflow2"]


def test_nothing_recognised_shows_what_was_looked_at(tmp_path):
    write(tmp_path, {"1n1g/x.log": "hello\nworld\n", "y.bin": bytes(range(256)) * 10})
    with pytest.raises(ValueError, match=r"None of the 2 files .*'hello'.*The known dialects are .*mindspore"):
        analyzed(tmp_path)


def test_a_case_that_nothing_says_is_asked_for(tmp_path):
    write(tmp_path, {"some/train.log": mindspore_log(370.29)})
    with pytest.raises(ValueError, match=r"some/train\.log\. .*-e case=2n8g"):
        analyzed(tmp_path)


def test_a_batch_that_nothing_says_is_asked_for(tmp_path):
    write(tmp_path, {"1n1g/train.log": mindspore_log(370.29)})
    assert "-e batch=" in state(numbers_of(tmp_path))[1]
    assert throughput(numbers_of(tmp_path, batch=128)) == pytest.approx(370.29, abs=0.005)


def test_links_are_not_followed(tmp_path):
    root = write(tmp_path / "logs", {"1n1g/a_b128_fp32_1.log": mindspore_log(370.29)})
    secret = write(tmp_path / "other", {"1n1g/b_b64_fp32_1.log": mindspore_log(100.0)})
    (root / "linked").symlink_to(secret)
    (root / "1n1g/b_b64_fp32_2.log").symlink_to(secret / "1n1g/b_b64_fp32_1.log")
    (analysis,) = analyzed(root)
    assert len(analysis.logs) == 1 and any("2 files are a link" in remark for remark in analysis.remarks)


def test_names_that_try_to_leave_the_folder_do_not(tmp_path):
    logs = {"1n1g/..%2f..<script>_b128_fp32_1.log": mindspore_log(370.29)}
    (analysis,) = analyzed(write(tmp_path / "logs", logs))
    assert "/" not in analysis.name and not analysis.name.startswith(".")


def test_many_files_are_read_side_by_side_with_the_same_result(tmp_path, monkeypatch):
    logs = {f"1n1g/rn50_b128_fp32_{number}.log": mindspore_log(300 + number) for number in range(1, 12)}
    root = write(tmp_path, logs)
    alone = numbers_of(root).summary
    monkeypatch.setattr("rackmark.logs.reading_in_parallel._SMALL", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    side_by_side = numbers_of(root).summary
    assert {**alone, "started": ""} == {**side_by_side, "started": ""}
    assert [run["repeat"] for run in alone["cases"][0]["runs"]] == list(range(1, 12))


@settings(max_examples=10)
@given(st.permutations(range(6)), st.permutations(range(8)))
def test_the_order_of_files_and_of_the_lines_of_ranks_does_not_matter(tmp_path_factory, files, ranks):
    milliseconds = [3000.0 + 10 * rank for rank in range(8)]
    log = "".join(
        "".join(f"epoch: {block} step: 10, loss is {6 + rank / 8:.3f}\n" for rank in ranks)
        + "".join(
            f"epoch time: {milliseconds[rank]:.3f} ms, per step time: {milliseconds[rank] / 10:.3f} ms\n"
            for rank in ranks
        )
        for block in range(1, 6)
    )
    folder = tmp_path_factory.mktemp("logs")
    for number in files:
        write(folder, {f"1n8g/rn50_b128_fp32_{number + 1}.log": f"{log}run {number}\n"})
    found = numbers_of(folder)
    assert case_of(found, "1n8g")["median"] == pytest.approx(8 * 1280 / 3.035)
    assert [run["repeat"] for run in case_of(found, "1n8g")["runs"]] == list(range(1, 7))


def test_logs_of_our_own_are_read_without_the_run_they_are_from(tmp_path):
    records = [
        {"event": "start", "time": 1.0, "rank": 0, "world_size": 1, "batch": 8, "precision": "bf16", "framework": "x"},
        *(
            {"event": "step", "time": 1.0 + step / 2, "step": step, "samples": 8, "seconds": 0.5, "loss": 7 / step}
            for step in range(1, 41)
        ),
        {"event": "eval", "time": 30.0, "step": 40, "seconds": 5.0, "images": 50, "accuracy": 0.25, "loss": 5.5},
        {"event": "end", "time": 31.0, "steps": 40},
    ]
    log = "".join(f"RACKMARK {json.dumps(record)}\n" for record in records)
    found = numbers_of(write(tmp_path, {"cases/1n1g/r1/rank-0.log": log}), warmup=10)
    case = case_of(found, "1n1g")
    assert (case["median"], case["batch_per_device"], case["precision"]) == (16, 8, "bf16")
    assert (case["accuracy"], case["loss"]) == (0.25, 7 / 40)


def test_the_batch_that_the_log_names_counts_before_that_of_the_path(tmp_path):
    start = json.dumps({"event": "start", "time": 1.0, "rank": 0, "world_size": 1, "batch": 96})
    (analysis,) = analyzed(write(tmp_path, {"1n1g/m_b48_fp32_1.log": f"RACKMARK {start}\n" * 3}))
    assert analysis.manifest.cases[0].batch_per_device == 96
    assert any("The path says 48 per device, the log 96" in remark for remark in analysis.remarks)


def test_the_docs_list_every_dialect_with_its_window():
    page = (Path(__file__).parents[2] / "docs/analyze.md").read_text()
    for dialect in DIALECTS:
        last = "" if dialect.last is None else dialect.last
        assert f"| `{dialect.name}` | {dialect.title} | {dialect.unit} | {dialect.warmup} | {last} |" in page

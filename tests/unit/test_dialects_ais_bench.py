"""ais-bench's report, what its training prints on every rank, and its files of one number each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dialect_fixture import measured, read
from rackmark.dialects import ais_bench, flagperf, mlperf
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from shared_data import shared
from unit.ais_bench_fixture import RATES, states

REPORT, RANKS = ais_bench.DIALECTS


EVERYBODY = (*CATALOG, *flagperf.DIALECTS, *mlperf.DIALECTS, *ais_bench.DIALECTS)


URL = "s3:/somebody-bucket/ais-bench/a-rather-long-name-of-a-training-job/output/V0003"


NOT_SET = "2020-01-30 14:16:00"


def lines(*each: str) -> str:
    return "\n".join(each) + "\n"


def cluster(rates: list[float] = RATES, size: int = 4, total: float | None = None) -> str:
    return lines(
        f"url:{URL}/ranksize.json read ranksize:{size}",
        *(
            f"rankid:{rank} url:{URL}/throughput_{rank}.json read throughput:{rate}"
            for rank, rate in enumerate(rates)
            if rate
        ),
        f"report result total_throughput : {sum(rates) if total is None else total}",
        f"url:{URL}/accuracy.json read accuracy:0.7705",
        "report result accuracy:0.7705",
    )


def info(**values: Any) -> str:
    usual = {"accuracy": "0", "average_power": 0, "energy_consumption": 0, "max_power": 0, "proc_end_time": NOT_SET}
    usual = {**usual, "throughput_ratio": "0", "total_end_time": NOT_SET, "total_start_time": NOT_SET, **values}
    content = ",\n".join(f'   "{name}" : {json.dumps(value)}' for name, value in sorted(usual.items()))
    return f"[2022-7-13 13:24:48][INFO]train_result_info: {{\n{content}\n}}\n\n"


SINGLE = lines(
    "server_count:2 cards_per_server:8",
    "serverid:0 count:2 service_throughput:450.5",
    "report >> throughput_list:[450.5, 451.75] average:451.125",
    "report >> accuracy_list:[0.7125, 0.7135] average:0.713",
    "2022-07-13T13:24:43 -Ais-Bench-Stubs- INFO run_eval(modelarts_run.sh:32) - run_eval called",
    "[2022-7-13 11:27:19][INFO]workpath:/home/me/train_huawei_train_mindspore_bert-Ais-Benchmark-Stubs-aarch64-1.0 go.",
)


INFO = info(
    accuracy="0.713",
    throughput_ratio="451.125",
    total_start_time="2022-07-13 11:27:19",
    total_end_time="2022-07-13 13:24:43",
)


def test_a_cluster_is_the_sum_of_its_ranks(tmp_path: Path) -> None:
    reading = read(tmp_path, cluster(), REPORT)
    assert reading.faults == reading.remarks == []
    assert reading.stated == {"throughput": 3540.875, "accuracy": 0.7705}
    assert reading.facts == {"world_size": 4}


@pytest.mark.parametrize(
    ("text", "state", "reason"),
    [
        (cluster([*RATES[:2], 0, RATES[3]]), "no_log", "no throughput of rank 2"),
        (cluster().replace("884.5", "1e999"), "no_log", "no throughput of rank 1"),
        (cluster(size=6), "no_log", "no throughput of rank 4, 5"),
        (cluster(size=3), "wrong_world_size", "3 ranks, the log has the throughput of 4"),
        (cluster(total=3000.0), "no_data", "states a total of 3000, its ranks add up to 3540.875"),
        (cluster().partition("\n")[2], "no_log", "does not say how many ranks"),
        (cluster() + cluster([*RATES[:3], 900.0]), "incomplete", "more than one training"),
        (cluster()[: cluster().index("rankid:3") + 20], "no_log", "rank 3"),
        (cluster() + info(throughput_ratio="3000.5"), "no_data", "train_result_info says 3000.5"),
    ],
)
def test_a_report_that_lacks_a_rank_or_contradicts_itself_has_no_number(
    tmp_path: Path, text: str, state: str, reason: str
) -> None:
    reading = read(tmp_path, text, REPORT)
    assert states(reading) == [state]
    assert reason in reading.faults[0].reason


def test_a_rank_whose_number_is_torn_is_missing(tmp_path: Path) -> None:
    torn = cluster()[: cluster().index("report result total")][:-5]
    assert torn.endswith("throughput:885")
    assert states(read(tmp_path, torn, REPORT)) == ["no_log"]


def test_ranks_that_are_all_there_need_no_total(tmp_path: Path) -> None:
    text = cluster()[: cluster().index("report result total") + 40]
    assert read(tmp_path, text, REPORT).stated == {"throughput": 3540.875}


def test_a_total_alone_is_taken_with_a_remark(tmp_path: Path) -> None:
    reading = read(tmp_path, cluster()[cluster().index("report result total") :], REPORT)
    assert reading.stated["throughput"] == 3540.875
    assert "does not list the ranks" in reading.remarks[0]


def test_a_single_server_is_the_mean_of_all(tmp_path: Path) -> None:
    reading = read(tmp_path, SINGLE + INFO, REPORT)
    assert reading.faults == []
    assert reading.stated == {"throughput": 451.125, "accuracy": pytest.approx(0.713), "e2e_s": 7044.0}
    assert reading.facts == {"nodes": 1, "devices_per_node": 8, "framework": "mindspore", "model": "bert"}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (SINGLE.replace("server_count:2", "server_count:3"), "no_log"),
        (SINGLE.replace("[450.5, 451.75]", "[450.5, 0.0]"), "no_log"),
        (SINGLE[: SINGLE.index("451.75") + 5], "incomplete"),
        (SINGLE[: SINGLE.index("report")], "incomplete"),
        (SINGLE.replace("451.75]", "nan]"), "incomplete"),
        (SINGLE.replace("451.75]", "1e999]"), "incomplete"),
    ],
)
def test_a_server_that_is_missing_is_a_fault(tmp_path: Path, text: str, state: str) -> None:
    reading = read(tmp_path, text, REPORT)
    assert states(reading) == [state]
    assert reading.stated == {}


def test_the_stub_repeats_the_result(tmp_path: Path) -> None:
    reading = read(tmp_path, INFO, REPORT)
    assert reading.faults == []
    assert reading.stated == {"throughput": 451.125, "accuracy": 0.713, "e2e_s": 7044.0}


def test_what_was_not_set_is_missing(tmp_path: Path) -> None:
    reading = read(tmp_path, info(), REPORT)
    assert states(reading) == ["incomplete"]
    assert reading.stated == {}
    assert reading.tables == []


def test_the_power_that_was_measured_is_shown(tmp_path: Path) -> None:
    reading = read(tmp_path, SINGLE + info(average_power=2310.5, throughput_ratio="451.125"), REPORT)
    assert reading.tables[0].rows == [("average_power", "2310.5")]


def test_a_result_that_is_cut_off_gives_what_is_whole_of_it(tmp_path: Path) -> None:
    torn = INFO[: INFO.index("451.125") + 5]
    assert states(read(tmp_path, torn, REPORT)) == ["incomplete"]
    assert read(tmp_path, SINGLE + torn, REPORT).stated["throughput"] == 451.125


@pytest.mark.parametrize("hostile", ["9" * 3000, "1e999", "NaN", "<b>1</b>", '1", "x" : "' + "a" * 3000])
def test_hostile_results_give_no_number(tmp_path: Path, hostile: str) -> None:
    reading = read(tmp_path, info(throughput_ratio=hostile, total_end_time="9999-99-99 00:00:00"), REPORT)
    assert states(reading) == ["incomplete"]
    assert reading.stated == {}


def done_epochs(all_samples: int = 512_000, skipped: int = 256_000, begin: float = 1657604990.25) -> str:
    return (
        f"train done starttime:1657604983.125 real:{begin} endtime:1657605090.25 alldatasum:{all_samples}"
        f" skipcount:{skipped} skiptime:7.125"
    )


EPOCH = "data_size:1000 batch_size:256 datasum:256000 skipcount:0 skip_data_sum:256000 skip_time_sum:7.125"


DONE_SINKS = (
    "train done starttime:1657604983.125 real:1657604990.25 endtime:1657605090.25 train_step:12000 skiptime:7.125"
    " ds getdataset:5000 new_repeat_count:120 data_sum:285600 throughput_rate:2856.0"
)


def test_every_rank_says_what_it_trained_after_its_first_epoch(tmp_path: Path) -> None:
    reading = read(tmp_path, lines("epoch: 1 step: 1000, loss is 6.9", EPOCH, *[done_epochs()] * 2), RANKS)
    assert reading.faults == []
    assert sorted(reading.series) == [0, 1]
    rows = measured(reading, 1)
    assert (rows.samples.tolist(), rows.seconds.tolist()) == ([256_000], [100.0])
    assert (rows.steps.tolist(), rows.step.tolist()) == ([1000], [2000])
    assert reading.facts == {"batch": 256}


def test_a_training_of_sinks_leaves_out_its_first(tmp_path: Path) -> None:
    rows = measured(read(tmp_path, DONE_SINKS + "\n", RANKS))
    assert rows.samples.tolist() == [285_600]
    assert rows.seconds.tolist() == [100.0]
    assert rows.steps.tolist() == pytest.approx([11_900])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (lines(EPOCH, done_epochs(256_000, 256_000, 0.0)), "nothing but the first epoch"),
        (lines(done_epochs()), "its begin is missing"),
        (lines(EPOCH, EPOCH), "No rank says"),
        (lines(EPOCH, done_epochs())[:-2], "No rank says"),
        (lines(DONE_SINKS.replace("new_repeat_count:120", "new_repeat_count:0")), "nothing but the first epoch"),
    ],
)
def test_ranks_that_measured_nothing_are_a_fault(tmp_path: Path, text: str, reason: str) -> None:
    reading = read(tmp_path, text, RANKS)
    assert states(reading) == ["incomplete"]
    assert reason in reading.faults[0].reason
    assert reading.series == {}


def test_the_dialects_are_told_from_all_others(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    for text, dialect in (
        (cluster(), REPORT),
        (SINGLE, REPORT),
        (INFO, REPORT),
        (lines(EPOCH, EPOCH, done_epochs()), RANKS),
    ):
        path.write_text(text)
        found = recognise(LogFile(path), EVERYBODY)
        assert found is not None and found.dialect is dialect
    path.write_text('[PerfLog] {"event": "FINISHED", "value": {"accuracy": "0.7"}}\nTimeHistory: 3\n')
    assert recognise(LogFile(path), ais_bench.DIALECTS) is None


@pytest.mark.parametrize(
    ("run", "throughput", "accuracy", "seconds"),
    [(1, 450.58182754928634, 0.7138610482215881, 7044), (2, 14151.181727494011, 0.7706197102864583, 11370)],
)
def test_published_runs_give_the_published_means(
    tmp_path: Path, run: int, throughput: float, accuracy: float, seconds: int
) -> None:
    text = shared(f"ais-bench/modelarts_singleserver_run_{run}.log").read_bytes()
    reading = read(tmp_path, text, REPORT)
    assert reading.faults == reading.remarks == []
    assert reading.stated == {"throughput": throughput, "accuracy": accuracy, "e2e_s": seconds}

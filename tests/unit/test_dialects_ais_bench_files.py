"""Logs of ais-bench: the files that ranks leave in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from rackmark.dialects.ais_bench import read_rank_files
from rackmark.logs.reading import Reading
from unit.ais_bench_fixture import RATES, states


def write(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(str(content))
    return folder


def ranks(rates: list[float] = RATES) -> dict[str, object]:
    return {f"throughput_{rank}__json": rate for rank, rate in enumerate(rates)}


def files(folder: Path, world_size: int | None = None) -> Reading:
    reading = read_rank_files(folder, world_size)
    assert reading is not None
    return reading


def test_the_files_of_all_ranks_are_added_up(tmp_path: Path) -> None:
    reading = files(write(tmp_path / "V1", **ranks(), ranksize__json=4, accuracy__json="0.7705"))
    assert reading.faults == reading.remarks == []
    assert reading.stated == {"throughput": 3540.875, "accuracy": 0.7705}
    assert reading.facts == {"world_size": 4}


def test_files_without_a_rank_size_need_somebody_who_knows_it(tmp_path: Path) -> None:
    offline = {f"throughput_rank_{rank}": f"{rate}\n" for rank, rate in enumerate(RATES)}
    folder = write(tmp_path / "result", **offline, result__log='{"throughput_ratio": 3540.875, "accuracy": 0.77}')
    assert states(files(folder)) == ["no_log"]
    assert files(folder, 4).stated == {"throughput": 3540.875, "accuracy": 0.77}
    assert "rank 4, 5, 6, 7: there were 8 ranks" in files(folder, 8).faults[0].reason


@pytest.mark.parametrize(
    ("changed", "state", "reason"),
    [
        ({"ranksize__json": 5}, "no_log", "no throughput file of rank 4"),
        ({"ranksize__json": 3}, "wrong_world_size", "file of rank 3"),
        ({"throughput_rank_1": 1.0}, "incomplete", "both throughput_1.json and throughput_rank_1"),
        ({"throughput_2__json": "nan"}, "no_data", "throughput_2.json"),
        ({"throughput_2__json": "0.0"}, "no_data", "throughput_2.json"),
        ({"throughput_2__json": ""}, "no_data", "throughput_2.json"),
        ({"throughput_2__json": "1e999"}, "no_data", "throughput_2.json"),
        ({"ranksize__json": "1e999"}, "no_log", "nothing says"),
        ({"throughput_2__json": "885.1" + " " * 5000}, "no_data", "throughput_2.json"),
        ({"throughput_2__json": "[" * 4000}, "no_data", "throughput_2.json"),
    ],
)
def test_a_rank_without_a_good_file_is_a_fault_and_no_smaller_sum(
    tmp_path: Path, changed: dict[str, object], state: str, reason: str
) -> None:
    folder = write(tmp_path / "V1", **{**ranks(), "ranksize__json": 4, "accuracy__json": 0.7705, **changed})
    reading = files(folder)
    assert state in states(reading)
    assert reason in " ".join(fault.reason for fault in reading.faults)
    assert reading.stated == {}


def test_a_link_is_no_file_of_a_rank(tmp_path: Path) -> None:
    folder = write(tmp_path / "V1", **ranks(RATES[:3]), ranksize__json=4)
    (folder / "throughput_3.json").symlink_to(write(tmp_path / "other", secret="885.125") / "secret")
    assert states(files(folder)) == ["no_log"]


def test_the_number_of_ranks_is_checked_against_what_the_operator_says(tmp_path: Path) -> None:
    assert states(files(write(tmp_path / "V1", **ranks(), ranksize__json=4), 8)) == ["wrong_world_size"]


def test_an_accuracy_of_zero_is_missing(tmp_path: Path) -> None:
    reading = files(write(tmp_path / "V1", **ranks(), ranksize__json=4, accuracy__json="0"))
    assert reading.stated == {"throughput": 3540.875}
    assert "accuracy" in reading.remarks[0]


def test_servers_that_trained_for_themselves_are_averaged(tmp_path: Path) -> None:
    for server in (0, 1):
        write(tmp_path / str(server), **ranks([50.0 + server] * 8))
    reading = files(write(tmp_path, accuracy_0__json=0.71, accuracy_1__json=0.73, ranksize__json=8))
    assert reading.faults == []
    assert reading.stated == {"throughput": 404.0, "accuracy": pytest.approx(0.72)}
    assert reading.facts == {"nodes": 1, "devices_per_node": 8}
    (tmp_path / "1" / "throughput_7.json").unlink()
    assert "Server 1 has no throughput file of rank 7" in files(tmp_path).faults[0].reason


def test_a_server_without_files_is_a_fault(tmp_path: Path) -> None:
    for server in (0, 2):
        write(tmp_path / str(server), **ranks([50.0] * 8))
    assert "no files of server 1" in files(tmp_path).faults[0].reason


def test_other_folders_are_none_of_its(tmp_path: Path) -> None:
    assert read_rank_files(tmp_path) is None
    assert read_rank_files(write(tmp_path / "1n8g", throughput="5", throughput_x__json="5")) is None
    assert read_rank_files(tmp_path / "missing") is None

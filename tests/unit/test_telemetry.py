"""From the lines of samplers to energy, doubts and the odd one out."""

from __future__ import annotations

import json
import math
import tracemalloc
from dataclasses import replace

import pytest
from rackmark.numbers.odd_one_out import odd_ones
from rackmark.report.telemetry_section import section
from rackmark.telemetry import columns as telemetry_series
from rackmark.telemetry.columns import MOST_ROWS, Series
from rackmark.telemetry.metered_energy import energy
from rackmark.telemetry.odd_nodes import odd_sentences
from rackmark.telemetry.repeats import read_run_telemetry
from rackmark.telemetry.result import telemetry_facts
from rackmark.telemetry.sampler_file import read_telemetry
from unit.run_fixture import STARTED, break_repeat, read_run, write_run
from unit.telemetry_fixture import (
    BEGIN,
    END,
    SECONDS,
    device,
    head,
    lines,
    run_with,
    sample,
    wave,
    wave_joules,
    write_lines,
    write_preflight,
)
from unit.telemetry_read_fixture import WINDOW, read, result, texts


def test_a_sampler_that_was_killed_leaves_a_hole_with_its_reason_and_no_zero(tmp_path):
    killed = lines(devices=[device()], until=WINDOW[0] + 60, end="The sampler was ended by SIGKILL.")
    seen = read(run_with(tmp_path, node1=killed))
    assert texts(seen) == [
        "node1: It was not sampled for 100.0 s of the measured 160.0 s.",
        "node1: The sampler was ended by SIGKILL.",
    ]
    assert seen.energy.joules is None
    extent = seen.nodes["node1"].series.extent("0/power")
    assert extent.mean == pytest.approx(300)


def test_a_series_that_does_not_overlap_the_run_is_said_with_the_shift_that_would_mend_it(tmp_path):
    seen = read(run_with(tmp_path, node1=lines(devices=[device()], ahead=8 * 3600)))
    (remark,) = texts(seen)
    assert "does not overlap what was measured" in remark
    assert "8 h earlier they would cover it" in remark
    assert seen.energy.joules is None


def test_each_node_is_cut_by_its_own_clock(tmp_path):
    """A peak that would be outside the window, were the clocks believed to be the same."""

    def peak(seconds):
        return 1000.0 if WINDOW[0] < seconds < WINDOW[0] + 30 else 100.0

    ahead = lines("node2", [device(peak)], ahead=35.0, until=470)
    run_dir = run_with(tmp_path, "2n1g", node1=lines(devices=[device(peak)], until=470), node2=ahead)
    write_preflight(run_dir / "cases/2n1g/r1", node1=0.0, node2=35.0)
    seen = read(run_dir)
    one, two = (seen.nodes[name].series.extent("0/power") for name in ("node1", "node2"))
    assert two.max == one.max == 1000
    assert two.mean == pytest.approx(one.mean, rel=0.05)
    assert any("Its clock was 35.00 s ahead of that of node1" in text for text in texts(seen))


def test_a_clock_that_jumps_while_the_job_runs_is_said(tmp_path):
    entries = lines()
    for entry in entries[100:-1]:
        entry["ms"] += 7000
    assert any("jumped by +7.0 s" in text for text in texts(read(run_with(tmp_path, node1=entries))))


def test_a_clock_that_is_put_back_once_is_one_jump_and_costs_no_rates_and_no_counter(tmp_path):
    entries = lines(devices=[device(counter=True)], until=460)
    for entry in entries[300:-1]:
        entry["ms"] -= 7000
    seen = read(run_with(tmp_path, node1=entries))
    node = seen.nodes["node1"]
    assert node.jumps == [pytest.approx(-7)]
    assert [text for text in texts(seen) if "jumped" in text] == [
        "node1: Its clock jumped by -7.0 s while the job ran."
    ]
    assert node.series.extent("received").mean == pytest.approx(1, rel=0.01)
    assert node.series.samples_in_window == pytest.approx(168, abs=2)
    assert not math.isnan(node.series.columns["received"][302])
    assert seen.energy.joules == pytest.approx(wave_joules(WINDOW[0], WINDOW[1] + 7), rel=0.02)


def test_a_clock_of_which_the_offset_is_not_known_is_said(tmp_path):
    run_dir = run_with(tmp_path, "2n1g", **{name: lines(name) for name in ("node1", "node2")})
    assert texts(read(run_dir)) == []
    write_preflight(run_dir / "cases/2n1g/r1", node1=0.0, node2=None)
    assert texts(read(run_dir)) == [
        "node2: How far its clock is from that of the first node is not known: its times are taken as they are."
    ]


def test_only_the_repeat_that_is_drawn_keeps_its_rows_and_all_keep_their_numbers(tmp_path):
    run_dir = write_run(tmp_path / "run", {"1n1g": [SECONDS, SECONDS], "2n1g": [SECONDS] * 3}, simulated=[])
    for case, repeat in (("1n1g", 1), ("1n1g", 2), ("2n1g", 1), ("2n1g", 2), ("2n1g", 3)):
        names = ["node1", "node2"][: int(case[0])]
        folder = run_dir / "cases" / case / f"r{repeat}"
        write_preflight(folder, **dict.fromkeys(names, 0.0))
        for name in names:
            write_lines(folder, name, lines(name, [device()]))
    break_repeat(run_dir, "2n1g", 1)
    run = read_run(run_dir)
    telemetry = read_run_telemetry(run_dir, run.manifest, run.judged)
    with_rows = [(seen.case, seen.repeat) for seen in telemetry if seen.nodes["node1"].series.times]
    assert with_rows == [("2n1g", 2)]
    for seen in telemetry:
        facts = telemetry_facts(seen)
        assert facts["energy"]["joules"] > 0
        assert facts["nodes"]["node1"]["devices"][0]["energy"]["joules"] == pytest.approx(300 * 160, rel=0.03)
    pictures = section(run.manifest, telemetry, [one.result.state == "ok" for one in run.judged]).pictures
    assert all("2n1g repeat 2" in str(picture) for picture in pictures) and len(pictures) == 2


def test_what_many_devices_lack_is_said_once_with_the_most_of_it(tmp_path):
    hole = (WINDOW[0] + 50, WINDOW[0] + 56)
    nodes = {name: lines(name, [device()] * 4, without=hole) for name in ("node1", "node2")}
    nodes["node2"] = lines("node2", [device()] * 4, without=(hole[0], hole[1] + 0.4), step=0.9)
    (remark,) = read(run_with(tmp_path, "2n1g", **nodes)).energy.remarks
    assert remark.startswith("node2 device 0 and 7 more, of which this is the most: The meter was not read for ")


@pytest.mark.parametrize(("launcher", "is_said"), [("slurm", False), ("local", True), ("ssh", True)])
def test_work_of_others_is_in_the_energy_of_processors_unless_nodes_were_taken_alone(tmp_path, launcher, is_said):
    run_dir = run_with(tmp_path, node1=lines(read=lambda seconds: {"processors_j": 55.0 * seconds}))
    run = read_run(run_dir)
    (seen,) = read_run_telemetry(run_dir, replace(run.manifest, launcher=launcher), run.judged)
    assert any("what else ran on them" in text for text in seen.energy.remarks) == is_said


def test_rates_come_from_counters_and_one_that_goes_back_is_no_rate(tmp_path):
    entries = lines(read=lambda seconds: {"disk": [2**20, 2**20] if seconds > 300 else [2**21, 2**21]})
    series = read(run_with(tmp_path, node1=entries)).nodes["node1"].series
    assert series.extent("received").mean == pytest.approx(1, rel=0.01)
    assert series.extent("sent").mean == pytest.approx(2, rel=0.01)
    assert series.extent("read").max == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00 no text",
        b"[1, 2]\nnull\n{}\n" + b"[" * 100_000,
        b'{"schema": "rackmark.telemetry/9"}\n',
        json.dumps(head(devices=2)).encode(),
        json.dumps({**head(), "devices": {"a": 1}, "device_columns": 7, "seconds": "x", "missing": []}).encode(),
        json.dumps({"ms": 1e400, "cpu": "50"}).encode() + b'\n{"ms": NaN}\n{"ms": true}\n{"ms": 1' + b"0" * 400 + b"}",
        b'{"ms": 1, "cpu": Infinity, "net": "xy", "devices": [[1], 2, null]}\n{"ms": 2, "net": [null, {}]}\n',
    ],
)
def test_no_content_of_a_file_keeps_a_report_from_being_made(tmp_path, content):
    run_dir = run_with(tmp_path, node1=[])
    (run_dir / "cases/1n1g/r1/telemetry-node1.jsonl").write_bytes(content)
    seen = read(run_dir)
    assert seen.energy.joules is None
    assert seen.remarks
    json.dumps(telemetry_facts(seen), allow_nan=False)


def test_a_torn_last_line_costs_one_sample(tmp_path):
    run_dir = run_with(tmp_path, node1=lines(devices=[device()]))
    path = run_dir / "cases/1n1g/r1/telemetry-node1.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    seen = read(run_dir)
    assert seen.energy.joules == pytest.approx(300 * 160)
    assert any("left no word of its end" in text for text in texts(seen))


def test_a_long_file_takes_bounded_memory_and_keeps_its_mean_max_and_energy(tmp_path, monkeypatch):
    monkeypatch.setattr(telemetry_series, "MOST_ROWS", 128)
    path, rows = tmp_path / "telemetry-node1.jsonl", 3000
    with path.open("w") as file:
        file.write(json.dumps(head(devices=1)) + "\n")
        for second in range(rows):
            file.write(json.dumps(sample(second, [device(lambda s: 900.0 if s == 777 else 300.0)])) + "\n")
    tracemalloc.start()
    node = read_telemetry(path, "node1", (STARTED, STARTED + rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 4
    assert len(node.series.times) <= 128
    assert node.series.samples_in_window == rows
    assert node.series.extent("0/power").max == 900
    assert node.series.extent("0/power").mean == pytest.approx(300 + 600 / rows)
    window = (STARTED, STARTED + rows - 40)
    assert energy(node.series.readings("0/power"), window).joules == pytest.approx(
        300 * window[1] - 300 * window[0], rel=0.02
    )


def test_halving_keeps_what_only_one_of_two_neighbours_has():
    series = Series(None)
    for second in range(MOST_ROWS + 3):
        series.take(float(second), {"power": 100.0} if second % 2 else {})
    series.finish()
    assert len(series.times) == MOST_ROWS // 2 + 2
    assert {value for _, value in series.readings("power")} == {100.0}


def test_the_odd_one_is_found_only_among_enough_others_and_beyond_their_spread():
    alike = {"a": 60.0, "b": 61.0, "c": 59.5, "d": 60.5}
    assert odd_ones({**alike, "e": 90.0}, 8) == {"e": 60.5}
    assert odd_ones(alike, 0.1) == {}
    assert odd_ones({"a": 60.0, "b": 60.5, "c": 90.0}, 8) == {"c": 60.5}
    assert odd_ones({"a": 60.0, "b": 75.0, "c": 90.0}, 8) == {}
    assert odd_ones({"a": 60.0, "b": 90.0}, 8) == {}
    assert odd_ones({"a": 40.0, "b": 55.0, "c": 70.0, "d": 90.0}, 8) == {}


def test_a_hot_device_and_a_slow_node_are_named_once(tmp_path):
    nodes = {f"node{number}": [device() for _ in range(4)] for number in range(1, 5)}
    nodes["node2"][3] = device(temperature=91.0)
    nodes["node4"] = [device(clock=1200.0) for _ in range(4)]
    seen = read(run_with(tmp_path, "4n1g", **{name: lines(name, rows) for name, rows in nodes.items()}))
    assert odd_sentences(seen, same_host=False) == [
        "The odd one out is node2 device 3: its mean temperature is 91 °C, the median of all 16 devices 60 °C.",
        "The odd one out is node4: its mean clock is 1,200 MHz, the median of all 4 nodes 1,755 MHz.",
    ]


def test_results_say_mean_and_max_of_everything_and_what_is_missing(tmp_path):
    facts = telemetry_facts(read(run_with(tmp_path, node1=lines(devices=[device(wave)]))))
    node = facts["nodes"]["node1"]
    assert facts["window"] == {"begin": pytest.approx(BEGIN), "end": pytest.approx(END)}
    assert node["cpu"] == {"mean": 50.0, "max": 50.0}
    assert node["host_w"] == {"mean": None, "max": None}
    assert node["missing"]["host_w"] == "The node has no IPMI device."
    assert node["devices"][0]["power"]["max"] == pytest.approx(400, rel=0.01)
    assert node["devices"][0]["energy"]["joules"] == pytest.approx(facts["energy"]["joules"])
    assert node["host_energy"] == {"joules": None, "reason": "The node has no IPMI device."}


def test_results_have_the_energy_of_each_meter_and_what_is_doubtful(tmp_path):
    both = lines(read=lambda seconds: {"processors_j": 55.0 * seconds, "host_w": 400}, without=(200, 203))
    (node,) = (facts := telemetry_facts(read(run_with(tmp_path, node1=both))))["nodes"].values()
    assert node["host_energy"]["joules"] == pytest.approx(400 * 160)
    assert node["processors_energy"]["joules"] == pytest.approx(55 * 160)
    assert facts["remarks"] == []
    apart = [{**entry, "ms": entry["ms"] + 3_600_000} for entry in lines()]
    (doubt,) = telemetry_facts(read(run_with(tmp_path / "b", node1=apart)))["remarks"]
    assert doubt["node"] == "node1"
    assert "does not overlap" in doubt["text"]


def test_a_device_with_ecc_errors_is_named(tmp_path):
    sound = device()
    seen = read(run_with(tmp_path, node1=lines(devices=[sound, lambda t: [*sound(t)[:-1], 3 if t > 200 else 0]])))
    assert odd_sentences(seen, same_host=False) == [
        "node1 device 1 has counted 3 ECC errors that could not be corrected, since its driver was started."
    ]


def test_a_repeat_that_failed_has_no_energy_and_still_its_telemetry(tmp_path):
    run_dir = run_with(tmp_path, node1=lines(devices=[device()]))
    (run_dir / "cases/1n1g/r1/rank-0.exit").write_text("1\n")
    found = result(run_dir)
    assert (found.state, found.energy_j) == ("incomplete", None)
    assert read(run_dir).nodes["node1"].series.samples_in_window > 100

"""The energy of a job, from power and counters."""

from __future__ import annotations

import json

import pytest
from rackmark.telemetry.metered_energy import counted_energy
from rackmark.telemetry.repeats import read_run_telemetry
from rackmark.telemetry.result import with_energies
from unit.run_fixture import BATCH, STARTED, read_run
from unit.telemetry_fixture import (
    BEGIN,
    END,
    device,
    lines,
    run_with,
    wave,
    wave_joules,
    write_lines,
)
from unit.telemetry_read_fixture import WINDOW, read, result, texts


def test_the_energy_of_a_trace_of_power_is_its_integral_in_the_measured_window(tmp_path):
    found = result(run_with(tmp_path, node1=lines(devices=[device(wave)])))
    assert found.energy_j == pytest.approx(wave_joules(*WINDOW), rel=1e-3)
    assert found.energy_of == "devices"
    assert found.samples_per_j == pytest.approx(4 * BATCH / found.energy_j)


def test_the_energy_of_a_job_without_steps_is_that_of_all_of_it(tmp_path):
    run_dir = run_with(tmp_path, node1=lines(devices=[device(wave)]))
    folder = run_dir / "cases/1n1g/r1"
    (folder / "rank-0.log").write_text('RACKMARK {"event": "stated", "time": 1.0, "score": 3}\n')
    (folder / "end.json").write_text(json.dumps({"state": "ok", "started": STARTED + 10, "ended": STARTED + 110}))
    manifest = json.loads((run_dir / "manifest.json").read_text())
    score = {"unit": "points", "better": "higher", "from": "stated.score", "over": "first"}
    stated = {"measure": "stated", "measures": {"score": score}, "headline": "score"}
    (run_dir / "manifest.json").write_text(json.dumps({**manifest, **stated}))
    found = result(run_dir)
    assert found.energy_j == pytest.approx(wave_joules(10, 110), rel=1e-3)
    assert found.samples_per_j is None


def test_a_counter_is_exact_where_power_is_read_too_rarely(tmp_path):
    rarely = {"step": 20.0, "until": 450}
    counted = result(run_with(tmp_path / "a", node1=lines(devices=[device(wave, counter=True)], **rarely)))
    by_power = result(run_with(tmp_path / "b", node1=lines(devices=[device(wave)], **rarely)))
    expected = wave_joules(*WINDOW)
    assert counted.energy_j == pytest.approx(expected, rel=1e-6)
    assert by_power.energy_j != pytest.approx(expected, rel=1e-3)


def test_a_counter_goes_on_while_nobody_reads_it_and_power_does_not(tmp_path):
    gap = {"without": (WINDOW[0] + 50, WINDOW[0] + 90)}
    counted = read(run_with(tmp_path / "a", node1=lines(devices=[device(wave, counter=True)], **gap)))
    assert counted.energy.joules == pytest.approx(wave_joules(*WINDOW), rel=1e-3)
    by_power = read(run_with(tmp_path / "b", node1=lines(devices=[device(wave)], **gap)))
    assert by_power.energy.joules is None
    assert "The meter was not read for 40.0 s of the window's 160.0 s" in by_power.energy.reason
    assert texts(by_power) == ["node1: It was not sampled for 40.0 s of the measured 160.0 s."]


def test_a_counter_that_begins_anew_gives_no_energy():
    readings = [(second, 100.0 * (second % 6)) for second in range(11)]
    assert counted_energy(readings, (1, 9)).reason == "The counter began anew."
    assert counted_energy([(second, 100.0 * second) for second in range(11)], (1.5, 9)).joules == pytest.approx(750)


def test_the_energy_of_a_case_takes_all_of_its_nodes_and_devices(tmp_path):
    two = {"node1": lines(devices=[device(), device()]), "node2": lines("node2", [device(), device()])}
    whole = result(run_with(tmp_path / "a", "2n1g", **two))
    slower = 0.01 * (END - STARTED)  # by which the second rank ends later
    assert whole.energy_j == pytest.approx(4 * 300 * (END - BEGIN + slower))
    without_node = read(run_with(tmp_path / "b", "2n1g", node1=two["node1"], node2=None))
    assert without_node.energy.joules is None
    assert "node2: There is no telemetry of it." in without_node.energy.reason
    blind = device()
    without_device = read(
        run_with(tmp_path / "c", "2n1g", node1=two["node1"], node2=lines("node2", [device(), lambda t: blind(t)[:4]]))
    )
    assert without_device.energy.joules is None
    assert "node2 device 1" in without_device.energy.reason


def test_processors_count_where_there_are_no_devices_and_whole_nodes_before_them(tmp_path):
    rapl = result(run_with(tmp_path / "a", node1=lines(read=lambda seconds: {"processors_j": 55.0 * seconds})))
    assert (rapl.energy_of, rapl.energy_j) == ("processors", pytest.approx(55 * 160))
    both = lines(read=lambda seconds: {"processors_j": 55.0 * seconds, "host_w": 400 if seconds % 5 == 0 else None})
    ipmi = result(run_with(tmp_path / "b", node1=both))
    assert (ipmi.energy_of, ipmi.energy_j) == ("hosts", pytest.approx(400 * 160))
    dark = lines(devices=[lambda _: None], read=lambda seconds: {"processors_j": 55.0 * seconds})
    assert result(run_with(tmp_path / "c", node1=dark)).energy_j is None


def test_energies_of_different_kinds_do_not_meet_in_a_case(tmp_path):
    run_dir = run_with(tmp_path, node1=lines(devices=[device()]))
    run = read_run(run_dir)
    (seen,) = read_run_telemetry(run_dir, run.manifest, run.judged)
    write_lines(run_dir / "cases/1n1g/r1", "node1", lines(read=lambda seconds: {"processors_j": 55.0 * seconds}))
    (other,) = read_run_telemetry(run_dir, run.manifest, run.judged)
    judged, left_out = with_energies([*run.judged] * 3, [seen, other, seen])
    assert [one.result.energy_of for one in judged] == ["devices", None, "devices"]
    assert "it is of processors, that of others of devices" in left_out[0]

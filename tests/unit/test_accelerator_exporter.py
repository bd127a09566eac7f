"""What a scrape of a host's accelerators shows: of either vendor, and while devices, drivers and tools fail."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter

import pytest
from rackmark.node import nvidia_readings
from shipped import ship
from unit.accelerator_exporter_fixture import (
    EXPORTER,
    NPU_SMI,
    Node,
    Nvml,
    device,
    failure,
    has_both,
    is_up,
    reasons,
)


@pytest.fixture
def node(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXPORTER))
    monkeypatch.setenv("PATH", f"{tmp_path}/ascend/bin:/usr/bin:/bin")
    made = []

    def make(vendor):
        made.append(Node(importlib.import_module, tmp_path / vendor, vendor))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def nvml(monkeypatch):
    binding = Nvml()
    monkeypatch.setattr(nvidia_readings, "pynvml", binding)
    return binding


def test_nvidia_is_told_in_base_units(node, nvml):
    found = node("nvidia").read()
    assert {name: found[name][device(0)] for name in found if device(0) in found[name]} == {
        "lost": 0,
        "utilization_ratio": 0.97,
        "memory_used_bytes": 20 * 2**30,
        "memory_used_ratio": 0.25,
        "memory_total_bytes": 80 * 2**30,
        "temperature_celsius": 60,
        "power_watts": 300,
        "energy_joules_total": 5000,
        "uncorrected_ecc_errors_total": 3,
    }
    assert found["clock_hertz"][device(1, clock="compute")] == 1.755e9
    assert found["info"][device(1, model="H100", uuid="GPU-1", driver="570.1", simulated="true")] == 1
    assert (found["expected_devices"], found["visible_devices"], found["reader_up"]) == ({(): 2}, {(): 2}, {(): 1})


def test_both_vendors_have_the_same_names_and_labels(node, nvml):
    def shape(found):
        return {name: {label for labels in values for label, _ in labels} for name, values in found.items()}

    nvidia = shape(node("nvidia").read())
    ascend = shape(node("ascend").read_until(has_both))
    assert {"power_watts", "utilization_ratio", "memory_used_ratio", "temperature_celsius", "info", "lost"} <= set(
        ascend
    )
    assert ascend == {name: nvidia[name] for name in ascend}


def test_what_cannot_be_read_is_absent_with_a_reason(node, nvml):
    nvidia = node("nvidia").read()
    assert set(nvidia["energy_joules_total"]) == {device(0)}
    assert reasons(nvidia) == {"device 1: energy": "NVML says: Not Supported."}


def test_what_npu_smi_cannot_read_is_absent_with_a_reason(node):
    found = node("ascend").read_until(has_both)
    assert set(found["utilization_ratio"]) == {device(0)}
    assert "energy_joules_total" not in found
    assert {"device 1: utilisation", "devices: energy"} <= set(reasons(found))


def test_errors_of_npus_are_counted_as_those_of_gpus_are(node):
    one = node("ascend")
    found = one.read_until(
        lambda found: "uncorrected_ecc_errors_total" in found and "device 1: errors" in reasons(found)
    )
    assert found["uncorrected_ecc_errors_total"] == {device(0): 3}
    assert reasons(found)["device 1: errors"] == "npu-smi info -t ecc prints no count."


def test_errors_are_those_of_each_chip_of_a_card_however_a_version_prints_them(node):
    node("ascend")
    errors = importlib.import_module("ascend_errors")
    one = errors.AscendErrors()  # whose script is not started
    said = [
        *("card 0", "Double-bit Error Count : 4", "all cards"),  # one chip, without a number
        *("card 0", "HBM Double Bit Error Count : 1", "Chip ID : 0"),
        *("HBM Double Bit Error Count : 0", "DDR Double Bit Error Count : 6", "Chip ID : 1"),
        *("card 1", "no such thing", "card 2", "HBM Double Bit Error Cnt : 7", "Chip ID : 1", "all cards"),
    ]
    counts = []
    for now, line in enumerate(said):
        one._tool.lines = lambda _, line=line: [line]
        counts.append(dict(one.read(float(now))))
    assert counts[2] == {0: 4} and counts[-1] == {0: 1, 1: 6, 5: 7}
    assert one.read(400.0) == {}, "counts that are too old"


def test_the_text_is_what_prometheus_takes(node, nvml):
    one = node("nvidia")
    one.read()
    text = one.text()
    kinds = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE"))
    assert all(name.startswith("rackmark_accelerator_") for name in kinds)
    assert {name for name, kind in kinds.items() if kind == "counter"} == {
        name for name in kinds if name.endswith("_total")
    }
    assert all(f"# HELP {name} " in text for name in kinds)
    series = Counter(line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#"))
    assert set(series.values()) == {1}


def test_a_reason_may_hold_anything_and_is_bounded(node, nvml):
    nvml.loaded = False
    one = node("nvidia")
    why = 'it said "no" \\ to C:\\n\n\tünï ' + 300 * "x"
    nvml.nvmlInit = lambda: (_ for _ in ()).throw(nvml.NVMLError(why))
    said = failure(one.read())
    assert said.startswith(f"unreadable: NVML does not work here: {why[:40]}") and len(said) == 200


def test_a_device_that_vanishes_is_lost_and_its_values_with_it_until_it_is_back(node, nvml):
    one = node("nvidia")
    one.read()
    nvml.lost = {1}
    one.files[1].unlink()
    gone = one.read()
    assert gone["lost"] == {device(0): 0, device(1): 1}
    assert (gone["expected_devices"], gone["visible_devices"], gone["reader_up"]) == ({(): 2}, {(): 1}, {(): 1})
    assert set(gone["power_watts"]) == {device(0)}
    assert reasons(gone) == {"device 1": "NVML says: GPU is lost."}
    assert any(dict(labels)["uuid"] == "GPU-1" for labels in gone["info"])
    nvml.lost = set()
    one.files[1].touch()
    back = one.read()
    assert back["lost"] == {device(0): 0, device(1): 0} and back["power_watts"][device(1)] == 301


def test_a_lost_file_is_seen_while_the_reader_cannot_tell(node, nvml):
    nvml.loaded = False
    one = node("nvidia")
    one.files[1].unlink()
    found = one.read()
    assert failure(found) == "unreadable: NVML does not work here: Driver Not Loaded."
    assert found["lost"] == {device(1): 1}
    assert "visible_devices" not in found and "power_watts" not in found


def test_a_device_that_nvml_no_longer_lists_does_not_hide_the_others_and_is_found_again(node, nvml):
    one = node("nvidia")
    nvml.lost = {0}
    assert [one.read(40)["lost"] for _ in range(4)] == 4 * [{device(0): 1, device(1): 0}]
    nvml.lost = set()
    assert [one.read(40)["visible_devices"][()] for _ in range(3)][-1] == 2


def test_a_driver_that_is_loaded_late_or_anew_is_found(node, nvml):
    nvml.loaded = False
    one = node("nvidia")
    assert not is_up(one.read())
    nvml.loaded = True
    assert [is_up(one.read(40)) for _ in range(3)][-1]
    nvml.begun = False  # as after the driver was taken out and put back
    assert one.read()["visible_devices"] == {(): 0}
    assert [one.read(40)["visible_devices"][()] for _ in range(3)][-1] == 2


def test_without_nvidias_binding_the_exporter_says_so(node, monkeypatch):
    one = node("nvidia")
    monkeypatch.setattr(nvidia_readings, "pynvml", None)
    assert "pynvml.py" in failure(one.read()) and "pynvml.py" in failure(one.read(100))


def test_npu_smi_may_come_later(node):
    one = node("ascend")
    one.tool.rename(one.tool.with_name("not-yet"))
    assert failure(one.read()) == "unreadable: There is no program npu-smi."
    one.tool.with_name("not-yet").rename(one.tool)
    assert is_up(one.read_until(has_both))


def test_an_npu_smi_that_hangs_is_told_and_its_last_words_only_for_a_while(node):
    one = node("ascend")
    one.install("0 0 68.2 41 97 43\n1 0 69.5 42 NA 44\n", NPU_SMI.replace("sleep 0.02", "sleep 60"))
    one.read_until(has_both)
    soon = one.read(10)
    assert is_up(soon) and soon["reading_age_seconds"][()] == pytest.approx(10, abs=1)
    one.read(6)
    found = one.after(0)
    assert failure(found) == "unreadable: npu-smi said nothing for 15 s and was killed."
    assert not {"power_watts", "visible_devices", "lost", "unreadable_info"} & set(found)
    assert found["expected_devices"] == {(): 2} and found["reading_age_seconds"][()] > 15


def test_an_npu_that_is_no_longer_printed_is_lost(node):
    one = node("ascend")
    one.read_until(has_both)
    one.rows.write_text("0 0 68.2 41 97 43\n")
    one.files[1].unlink()
    assert one.read(0.001)["lost"] == {device(0): 0, device(1): 1}


def test_a_driver_that_hangs_holds_up_no_scrape(node, nvml):
    one, begun, let_go = node("nvidia"), threading.Event(), threading.Event()
    one.read()
    ask = nvml.nvmlDeviceGetPowerUsage

    def hanging(device):
        begun.set()
        assert let_go.wait(10)
        return ask(device)

    nvml.nvmlDeviceGetPowerUsage = hanging
    reading = threading.Thread(target=one.read)
    reading.start()
    assert begun.wait(10)
    assert one.after(1)["power_watts"][device(0)] == 300
    found = one.after(15)
    assert failure(found) == "hanging: A reading of the devices has not come back within 15 s."
    assert "power_watts" not in found and "visible_devices" not in found
    let_go.set()
    reading.join(10)
    assert is_up(one.read())


def test_before_the_first_reading_nothing_is_made_up(node, nvml):
    found = node("nvidia").scrape()
    assert failure(found).startswith("starting: ")
    assert set(found) == {"reader_up", "reader_failure_info", "expected_devices", "info"}


def test_whatever_goes_wrong_in_a_reader_is_told_and_does_not_end_the_readings(node, nvml, capsys):
    one, ask = node("nvidia"), nvml.nvmlDeviceGetPowerUsage
    one.read()
    nvml.nvmlDeviceGetPowerUsage = lambda device: {}[device]
    assert failure(one.read()) == "unreadable: KeyError: 0"
    nvml.nvmlDeviceGetPowerUsage = ask
    assert is_up(one.read())
    said = ["Devices are read.", "Devices are not read. unreadable: KeyError: 0", "Devices are read."]
    assert capsys.readouterr().err.splitlines() == said


def test_the_program_serves_what_its_settings_say(node, tmp_path):
    node("ascend")
    # Stands in for the server of role monitoring_access.
    (tmp_path / "scrape_server.py").write_text(
        "import sys, time\n"
        "def serve(listen, collect, web_config):\n"
        "    while b'reader_up{vendor=\"ascend\"} 1.0' not in collect(): time.sleep(0.02)\n"
        "    print(listen, web_config, collect().decode())\n"
    )
    settings = {"vendor": "ascend", "devices": [0, 1], "model": "Ascend 910B", "simulated": False, "seconds": 1}
    settings.update(listen="127.0.0.1:9401", web_config="/etc/web.yml")
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    program = ship(EXPORTER, tmp_path / "exporter") / "accelerator_exporter.py"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "settings.json")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.startswith("127.0.0.1:9401 /etc/web.yml # HELP")
    assert 'model="Ascend 910B",simulated="false"' in done.stdout
    assert done.stderr.splitlines()[-1] == "Devices are read."

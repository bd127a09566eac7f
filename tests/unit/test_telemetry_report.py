"""What a reader is shown of telemetry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rackmark.formats.summary_files import summary_files
from rackmark.numbers.summary import summarize
from rackmark.report.plots_of_telemetry import NAMED, has_devices, hosts
from rackmark.report.report import report_files
from rackmark.report.telemetry_section import MOST_ALIKE, section, sentences
from rackmark.report.telemetry_table import telemetry_table
from rackmark.telemetry.repeats import read_run_telemetry
from rackmark.telemetry.result import telemetry_facts, with_energies
from unit.run_fixture import read_run, write_run
from unit.telemetry_fixture import device, lines, run_with

TEMPLATES = Path(__file__).parents[2] / "reports" / "templates"


def report_of(run_dir, **changes):
    run = read_run(run_dir)
    manifest = replace(run.manifest, **changes)
    telemetry = read_run_telemetry(run_dir, manifest, run.judged)
    judged, left_out = with_energies(run.judged, telemetry)
    summary = summarize(manifest, judged, run.measured)
    shown = section(manifest, telemetry, [one.result.state == "ok" for one in judged], left_out)
    return {
        **report_files(manifest, summary, run.measured, run.hosts, TEMPLATES, telemetry=shown),
        **summary_files(summary, judged, [telemetry_facts(seen) for seen in telemetry]),
    }


def sentences_of(run_dir, **changes):
    run = read_run(run_dir)
    manifest = replace(run.manifest, **changes)
    telemetry = read_run_telemetry(run_dir, manifest, run.judged)
    return sentences(manifest, telemetry, telemetry)


def test_nodes_have_a_row_each_and_pictures_of_the_largest_case(tmp_path):
    nodes = {f"node{number}": lines(f"node{number}", [device(), device()]) for number in (1, 2)}
    nodes["node2"][-1]["end"] = "<script>x</script> | `a` [b](c)"
    files = report_of(run_with(tmp_path, "2n1g", **nodes))
    page, plain = files["report.html"].decode(), files["report.md"].decode()
    assert "| 2n1g | node2 | 50.00 | 50.00 | 2.000 | 1.000 | 2.000 | 97.00 | 60.00 | 600.0 | 600.0 |" in plain
    assert "2n1g repeat 1" in page
    for name in ("telemetry.png", "devices.png"):
        assert files[name].startswith(b"\x89PNG")
        assert f"]({name})" in plain
    assert page.count("data:image/png;base64,") == sum(name.endswith(".png") for name in files)
    assert b'"telemetry": {' in files["cases/2n1g/r1/result.json"]
    assert "Energy is that of the devices alone" in page
    assert "energy, kJ" in page
    assert "<script>" not in page + plain


def test_of_many_nodes_there_are_the_median_and_the_extremes(tmp_path):
    nodes = {f"node{number:02}": lines(f"node{number:02}", [device(), device()]) for number in range(1, 10)}
    run_dir = run_with(tmp_path, "9n2g", **nodes)
    files = report_of(run_dir)
    page, plain = files["report.html"].decode(), files["report.md"].decode()
    rest = "| 50.00 | 50.00 | 2.000 | 1.000 | 2.000 | 97.00 | 60.00 | 600.0 | 600.0 |"
    for word in ("median", "lowest", "highest"):
        assert f"| 9n2g | {word} of 9 {rest}" in plain
    assert "| 9n2g | node05" not in plain
    assert "Every node is in report.html, and in result.json of the repeats." in plain
    folded = page[page.index("<details>") : page.index("</details>")]
    assert all(name in folded for name in nodes)
    run = read_run(run_dir)
    (seen,) = read_run_telemetry(run_dir, run.manifest, run.judged)
    few = replace(seen, nodes=dict(list(seen.nodes.items())[:8]))
    assert [row[1] for row in telemetry_table([few], "9n2g").rows] == [f"node{number:02}" for number in range(1, 9)]
    assert telemetry_table([few], "9n2g").every_node == []
    assert [row[1] for row in telemetry_table([seen, replace(few, case="8n2g")], "9n2g").rows][3:5] == [
        "node01",
        "node02",
    ]


def test_without_devices_there_is_no_energy_and_no_zero(tmp_path):
    run_dir = run_with(tmp_path, node1=lines())
    (text,) = sentences_of(run_dir)
    assert text.startswith("No energy. Hosts: node1: The node has no IPMI device.")
    run = read_run(run_dir)
    (seen,) = read_run_telemetry(run_dir, run.manifest, run.judged)
    headings, rows, _ = telemetry_table([seen], "1n1g")
    assert not any("devices" in heading or heading.startswith("node,") for heading in headings)
    assert len(rows) == 1


def test_a_run_without_telemetry_has_a_sentence_instead(tmp_path):
    files = report_of(write_run(tmp_path, {"1n1g": [0.5]}))
    assert "telemetry.png" not in files
    assert "benchmark_telemetry_seconds was 0" in files["report.html"].decode()


def test_what_only_one_repeat_has_is_said_of_that_one(tmp_path):
    run_dir = write_run(tmp_path, {"1n1g": [40.0, 40.0]}, simulated=[])
    for repeat, end in (("r1", None), ("r2", "The sampler was ended by SIGKILL.")):
        folder = run_dir / "cases/1n1g" / repeat
        one = run_with(tmp_path / repeat, node1=lines(devices=[device()], end=end)) / "cases/1n1g/r1"
        for name in ("preflight.json", "telemetry-node1.jsonl"):
            (one / name).rename(folder / name)
    found = sentences_of(run_dir)
    assert "node1: The sampler was ended by SIGKILL. (1n1g r2)" in found
    assert sum("Energy is that of the devices alone" in text for text in found) == 1


def test_sentences_on_many_repeats_are_bounded_and_the_rest_is_counted(tmp_path):
    run_dir = run_with(tmp_path, node1=lines(devices=[device()]))
    run = read_run(run_dir)
    (seen,) = read_run_telemetry(run_dir, run.manifest, run.judged)
    many = [replace(seen, energy=seen.energy._replace(remarks=[f"Remark {number}."])) for number in range(50)]
    found = [text for text in sentences(run.manifest, many, many) if "emark" in text or "more sentences" in text]
    assert len(found) == MOST_ALIKE + 1
    assert found[-1] == f"{50 - MOST_ALIKE} more sentences on energy are in result.json of the repeats."


def test_simulated_nodes_are_not_compared_by_processors_that_they_share(tmp_path):
    run_dir = run_with(
        *(tmp_path, "4n1g"),
        **{
            name: lines(name, read=lambda _, busy=busy: {"cpu": busy})
            for name, busy in {"node1": 20.0, "node2": 21.0, "node3": 22.0, "node4": 90.0}.items()
        },
    )
    assert any("The odd one out is node4" in text for text in sentences_of(run_dir))
    simulated = " ".join(sentences_of(run_dir, simulated=["nodes"]))
    assert "odd one" not in simulated
    assert "simulated on one machine" in simulated


def test_many_nodes_share_a_picture_that_is_always_the_same(tmp_path):
    nodes = {f"node{number}": lines(f"node{number}", step=10.0) for number in range(1, NAMED + 3)}
    run_dir = run_with(tmp_path, f"{NAMED + 2}n1g", **nodes)
    run = read_run(run_dir)
    (seen,) = read_run_telemetry(run_dir, run.manifest, run.judged)
    assert hosts(seen) == hosts(seen)
    assert not has_devices(seen)

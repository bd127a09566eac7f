from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import promql_parser
import pytest
from grafana_foundation_sdk.models import units
from rackmark.dashboards import dashboards, queries
from unit.grafana_schema import complaints

ROOT = Path(__file__).resolve().parents[2]
KNOWN_METRICS = {
    *("up", "ALERTS", "ALERTS_FOR_STATE"),
    *(
        "node_boot_time_seconds",
        "node_cpu_seconds_total",
        "node_load1",
        "node_load5",
        "node_time_seconds",
        "node_timex_offset_seconds",
    ),
    *("node_memory_MemAvailable_bytes", "node_memory_MemTotal_bytes", "node_systemd_unit_state"),
    *("node_filesystem_avail_bytes", "node_filesystem_size_bytes", "node_disk_io_time_seconds_total"),
    *("node_disk_read_bytes_total", "node_disk_written_bytes_total"),
    *(f"node_network_{way}_bytes_total" for way in ("receive", "transmit")),
    *(f"node_network_{way}_{what}_total" for way in ("receive", "transmit") for what in ("drop", "errs")),
    *(f"node_infiniband_port_data_{way}_bytes_total" for way in ("received", "transmitted")),
    *("rackmark_health_ok", "rackmark_health_fault", "rackmark_health_last_run_timestamp_seconds"),
    *(
        f"rackmark_accelerator_{name}"
        for name in (
            *("info", "reader_up", "reader_failure_info", "unreadable_info", "reading_age_seconds"),
            *("expected_devices", "visible_devices", "lost", "uncorrected_ecc_errors_total"),
            *("utilization_ratio", "memory_used_bytes", "memory_used_ratio", "memory_total_bytes"),
            *("temperature_celsius", "power_watts", "energy_joules_total", "clock_hertz"),
        )
    ),
    *(
        f"rackmark_slurm_{name}"
        for name in (
            *("query_up", "query_age_seconds", "query_duration_seconds"),
            *("controller_up", "database_up", "database_queue"),
            *("nodes", "node_out_of_service", "node_powered_down", "partition_nodes", "cpus", "devices"),
            *("devices_allocated", "cpus_allocated"),
            *("jobs", "jobs_pending", "oldest_pending_seconds", "queue_wait_seconds", "search_progress"),
        )
    ),
    *(
        f"rackmark_benchmark_{name}"
        for name in (
            *("state", "simulated", "repeats", "throughput", "speedup", "efficiency_ratio", "rank_spread_ratio"),
            "measure",
            *("step_seconds", "started_timestamp_seconds", "last_step_timestamp_seconds"),
        )
    ),
}
OF_GRAFANA_10 = 38
GRAFANA_UNITS = {value for value in vars(units).values() if isinstance(value, str)}


def of_the_filter(cluster_name="blue", shared_dir="/userhome"):
    spec = importlib.util.spec_from_file_location("dashboards_filter", ROOT / "filter_plugins" / "dashboards.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FilterModule().filters()["rackmark_dashboards"](cluster_name, shared_dir)


DOCUMENTS = {name: json.loads(text) for name, text in of_the_filter().items()}
DECLARED = {each.uid: each for each in dashboards("blue", "/userhome")}
each_document = pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)


def panels_of(document):
    return [panel for panel in document["panels"] if panel["type"] != "row"]


def urls_of(document):
    return re.findall(r'"url": "((?:[^"\\]|\\.)+)"', json.dumps(document))


@each_document
def test_grafana_knows_every_field_and_value(document):
    assert complaints(document) == []
    assert document["schemaVersion"] == OF_GRAFANA_10


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("refresch",), "30s"),
        (("graphTooltip",), 7),
        (("time", "from"), 3),
        (("links", 0, "type"), "dashbord"),
        (("templating", "list", 0, "refresh"), True),
        (("panels", 1, "options", "colorMode"), "values"),
        (("panels", 1, "options", "sparkline"), True),
        (("panels", 1, "targets", 0, "instants"), True),
        (("panels", 1, "targets", 0, "format"), "tables"),
        (("panels", 1, "fieldConfig", "defaults", "thresholds", "steps", 0, "colour"), "green"),
        (("panels", 7, "fieldConfig", "overrides", 0, "properties", 0, "id"), "custom.wide"),
        (("panels", 7, "fieldConfig", "overrides", 0, "properties", 0, "value"), "280"),
        (("panels", 7, "fieldConfig", "defaults", "custom", "align"), "middle"),
        (("panels", 7, "transformations", 0, "option"), {}),
        (("panels", 9, "fieldConfig", "defaults", "custom", "drawStyle"), "lines"),
        (("panels", 9, "fieldConfig", "defaults", "custom", "fillOpacity"), "25"),
    ],
)
def test_the_schema_finds_what_is_wrong(path, wrong):
    document = json.loads(of_the_filter()["rackmark-runs.json"])
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong
    assert complaints(document)


@each_document
def test_panels_stand_side_by_side(document):
    assert len({panel["id"] for panel in document["panels"]}) == len(document["panels"])
    grids = [panel["gridPos"] for panel in document["panels"]]
    assert all(grid["x"] >= 0 and grid["w"] > 0 and grid["x"] + grid["w"] <= 24 for grid in grids)
    for one, two in combinations(grids, 2):
        beside = one["x"] + one["w"] <= two["x"] or two["x"] + two["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= two["y"] or two["y"] + two["h"] <= one["y"], (one, two)


@each_document
def test_every_panel_says_what_it_means(document):
    for panel in panels_of(document):
        overrides = [each for override in panel["fieldConfig"]["overrides"] for each in override["properties"]]
        shown = [panel["fieldConfig"]["defaults"]["unit"], *(e["value"] for e in overrides if e["id"] == "unit")]
        assert set(shown) <= GRAFANA_UNITS, panel["title"]
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "rackmark-prometheus"}


@each_document
def test_variables_are_declared_and_used(document):
    declared = {each["name"] for each in document["templating"]["list"]}
    expressions = [target["expr"] for panel in panels_of(document) for target in panel["targets"]]
    expressions += [each["query"]["query"] for each in document["templating"]["list"]]
    used = {name for text in expressions for name in re.findall(r"\$([a-z]\w*)", text)}
    in_links = {name for url in urls_of(document) for name in re.findall(r"\$\{([a-z]\w*)", url)}
    assert used == declared
    assert in_links <= declared
    assert not [text for text in expressions if "${" in text]


@each_document
def test_links_lead_to_dashboards_and_variables_that_exist(document):
    known = {each["uid"]: {variable["name"] for variable in each["templating"]["list"]} for each in DOCUMENTS.values()}
    for url in filter(None, urls_of(document)):
        uid, handed_on = re.match(r"/d/([\w-]+)\?", url)[1], re.findall(r"var-(\w+)=|\$\{(\w+):queryparam\}", url)
        assert {one or other for one, other in handed_on} <= known[uid], url


def test_a_run_opens_other_dashboards_with_its_own_time():
    document = DOCUMENTS["rackmark-runs.json"]
    table = next(panel for panel in panels_of(document) if panel["type"] == "table")
    links = {override["matcher"]["options"]: dict_of(override).get("links", []) for override in overrides_of(table)}
    opened = {link["url"].partition("?")[0]: link["url"].partition("?")[2] for link in links["run"]}
    assert set(opened) == {"/d/rackmark-node", "/d/rackmark-accelerators"}
    span = 'from=${__data.fields["start"].numeric}&to=${__data.fields["end"].numeric}'
    assert set(opened.values()) == {span}
    assert value_of(table, "start") == "started_timestamp_seconds"
    assert value_of(table, "end") == "last_step_timestamp_seconds"


def overrides_of(panel):
    return panel["fieldConfig"]["overrides"]


def dict_of(override):
    return {each["id"]: each["value"] for each in override["properties"]}


def value_of(table, column):
    """The metric in milliseconds that a column of a table shows."""
    names = {title: field for field, title in table["transformations"][-1]["options"]["renameByName"].items()}
    expr = next(each["expr"] for each in table["targets"] if f"Value #{each['refId']}" == names[column])
    return re.search(r"1000 \* last_over_time\(rackmark_benchmark_(\w+)", expr)[1]


@each_document
def test_columns_of_tables_have_a_query(document):
    for table in (panel for panel in panels_of(document) if panel["type"] == "table"):
        queried = [f"Value #{each['refId']}" for each in table["targets"]] if len(table["targets"]) > 1 else ["Value"]
        shown = table["transformations"][1]["options"]["include"]["names"]
        assert [name for name in shown if name.startswith("Value") and name not in queried] == []
        assert {override["matcher"]["options"] for override in overrides_of(table)} == {
            table["transformations"][2]["options"]["renameByName"][name] for name in shown
        }


@pytest.mark.parametrize("declared", DECLARED.values(), ids=DECLARED)
def test_queries_are_promql_over_known_metrics(declared):
    for query in queries(declared):
        assert not re.search(r"\$[a-z_{]", query.expr), query
        asked = set()
        promql_parser.walk(promql_parser.parse(query.expr), lambda node, asked=asked: note_metric(node, asked))
        assert asked, query
        assert asked <= KNOWN_METRICS, query


def note_metric(node, asked):
    selector = node.vector_selector if isinstance(node, promql_parser.MatrixSelector) else node
    if isinstance(selector, promql_parser.VectorSelector):
        asked.add(selector.name)


def test_the_same_cluster_gives_the_same_bytes():
    program = (
        "import sys; from rackmark import dashboards; sys.stdout.write(repr(dashboards.files('blue', '/userhome')))"
    )
    environment = {"PYTHONPATH": str(ROOT / "module_utils")}
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {repr(of_the_filter()).encode()}
    assert {document["uid"]: name for name, document in DOCUMENTS.items()} == {
        uid: f"{uid}.json"
        for uid in ("rackmark-cluster", "rackmark-node", "rackmark-accelerators", "rackmark-slurm", "rackmark-runs")
    }


def test_a_cluster_sees_its_own_name_and_folder():
    documents = {name: json.loads(text) for name, text in of_the_filter("red", "/data/").items()}
    assert all(document["title"].startswith("red: ") for document in documents.values())
    storage = json.dumps(documents["rackmark-cluster.json"])
    assert 'mountpoint=\\"/data\\"' in json.loads(json.dumps(storage))
    assert "/userhome" not in storage

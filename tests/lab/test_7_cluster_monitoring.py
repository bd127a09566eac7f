"""A cluster with devices of two vendors, seen through its exporters, Prometheus and Grafana.

Grafana is a stub: what it is given is looked at, and every query of its dashboards is put to the real Prometheus.
"""

from __future__ import annotations

import json
import shlex
import time

import pytest
import yaml
from lab.monitored import (
    ADDRESSES,
    EMPTY_WHEN_IDLE,
    EMPTY_WHEN_WELL,
    EXPORTERS,
    HOSTS,
    TARGETS,
    answered,
    panels_without_an_answer,
)
from lab.monitoring import FOLDER
from lab.stub_packages import DCGM, build_dcgm, sha256
from rackmark import dashboards

NOT_HERE = {"InfiniBand"}


@pytest.fixture(scope="module")
def measured(monitored, whole):
    """After a run on the node with NVIDIA devices, which leaves its numbers with Prometheus."""
    whole.play("run_resnet.yml", preset="tiny", cases="1n1g,1n2g").succeeded()
    return monitored


def test_every_target_is_up_and_none_is_missing(monitored):
    assert monitored.targets() == dict.fromkeys(TARGETS, "up")
    assert {sample.value for sample in monitored.query("up")} == {1}


@pytest.mark.usefixtures("monitored")
def test_a_second_run_changes_nothing(whole):
    """Of what devices make different; roles of monitoring are run again alone, all others on the first cluster."""
    assert whole.play("site.yml", cmdline="--tags slurm_health,slurm,slurm_access,docker").succeeded().changed == []


@pytest.mark.usefixtures("monitored")
def test_check_mode_on_a_cluster_at_work_finds_nothing_to_change(whole):
    assert whole.play("site.yml", cmdline="--check --diff").succeeded().changed == []


@pytest.mark.parametrize(
    "role",
    [
        "monitoring_access",
        "node_exporter",
        "accelerator_exporter",
        "slurm_exporter",
        "prometheus",
        "alertmanager",
        "grafana",
    ],
)
@pytest.mark.usefixtures("monitored")
def test_a_role_alone_on_one_host(whole, role):
    host = "head" if role in ("slurm_exporter", "prometheus", "alertmanager", "grafana") else "node1"
    once = whole.play("site.yml", cmdline=f"--tags {role} --limit {host}").succeeded()
    assert once.changed == []


@pytest.mark.parametrize(("host", "port"), EXPORTERS)
def test_only_who_has_the_password_reads_an_exporter(monitored, host, port):
    exporter = f"{ADDRESSES[host]}:{port}"
    password = monitored.cluster.on("head", f"cat {FOLDER}/password")
    url = f"https://{exporter}/metrics"
    assert answered(url) == 401
    assert answered(url, "guessed") == 401
    assert answered(f"http://{exporter}/metrics") in (None, 400)
    assert answered(url, password) == 200


@pytest.mark.parametrize("port", [9090, 9093, 3000])
@pytest.mark.usefixtures("monitored")
def test_the_servers_answer_only_on_their_own_host(port):
    assert answered(f"https://{ADDRESSES['head']}:{port}/") is None


def test_the_password_is_on_the_monitoring_server_and_nowhere_else(monitored, whole):
    password = monitored.cluster.on("head", f"cat {FOLDER}/password")
    assert monitored.cluster.on("head", f"stat -c '%a %U' {FOLDER}/ca.key {FOLDER}/password") == "600 root\n640 root"
    for node in HOSTS[1:]:
        assert monitored.cluster.on(node, f"ls {FOLDER}").split() == ["ca.pem", "certificate.pem", "key.pem", "web.yml"]
        assert monitored.cluster.on(node, f"grep -rsF {shlex.quote(password)} /etc || true") == ""
        assert monitored.cluster.on(node, f"runuser -u nobody -- cat {FOLDER}/key.pem 2>&1 || true").endswith("denied")
    told = whole.play("site.yml", cmdline="--diff --tags monitoring_access,prometheus,grafana", verbosity=3).succeeded()
    web = yaml.safe_load(monitored.cluster.on("head", f"cat {FOLDER}/web.yml"))
    assert password not in told.output and web["basic_auth_users"]["prometheus"] not in told.output


def test_devices_of_both_vendors_have_the_same_metrics(monitored):
    gauges = ("utilization_ratio", "memory_used_ratio", "temperature_celsius", "power_watts")
    for metric in (*gauges, "uncorrected_ecc_errors_total"):
        found = monitored.query(f"rackmark_accelerator_{metric}")
        devices = {(sample.labels["instance"], sample.labels["vendor"], sample.labels["device"]) for sample in found}
        assert devices == {
            (node, vendor, str(number))
            for node, vendor in (("node1", "nvidia"), ("node2", "ascend"))
            for number in range(8)
        }, metric
    watts = {
        sample.labels["device"]: sample.value
        for sample in monitored.query('rackmark_accelerator_power_watts{vendor="nvidia"}')
    }
    assert watts == {str(number): 300 + 10 * number for number in range(8)}
    assert {sample.labels["simulated"] for sample in monitored.query("rackmark_accelerator_info")} == {"true"}


def test_slurm_says_the_same_to_its_exporter_as_to_a_user(monitored):
    search = "--job-name=rackmark:20261120-101500-automl:1n3g:1"
    job = monitored.cluster.start_job(900, "--nodelist=node1", "--gres=gpu:3", search)
    try:
        said = "rackmark trials=7 failed=0 running=1 best=0.7131 gflops=812.4 regulated=1013.9"
        monitored.cluster.on("head", f"scontrol update JobId={job} Comment='{said}'")
        best = 'rackmark_slurm_search_progress{case="1n3g", measure="best"}'
        monitored.cluster.wait_until(lambda: monitored.value(best) == 0.7131, "the search says how far it is", pause=2)
        allocated = 'sum by (user) (rackmark_slurm_devices_allocated{user="rackmark"})'
        monitored.cluster.wait_until(lambda: monitored.value(allocated) == 3, "3 devices are allocated", pause=2)
        assert monitored.value('rackmark_slurm_nodes{state="idle"}') == 2
        assert monitored.value("sum(rackmark_slurm_devices)") == 16
        assert monitored.value('sum(rackmark_slurm_jobs{state=~"(?i)running"})') == 1
        assert monitored.value("rackmark_slurm_database_up") == 1
        assert monitored.value("rackmark_slurm_controller_up") == 1
        assert not EMPTY_WHEN_IDLE & panels_without_an_answer(monitored)
    finally:
        monitored.cluster.on("head", f"scancel {job}")
        monitored.cluster.wait_until_idle()


def test_a_run_is_in_prometheus_and_its_time_range_too(measured, whole):
    run = whole.cluster.latest_run()
    summary = json.loads((run / "summary.json").read_text())
    of_run = f'{{run_id="{summary["run_id"]}"}}'
    measured.cluster.wait_until(
        lambda: measured.query(f"rackmark_benchmark_throughput{of_run}"), "the run is there", pause=2
    )
    found = {sample.labels["case"]: sample.value for sample in measured.query(f"rackmark_benchmark_throughput{of_run}")}
    assert found == {case["case"]: pytest.approx(case["median"]) for case in summary["cases"]}
    begun, last = measured.answers(
        f"rackmark_benchmark_{which}_timestamp_seconds{of_run}" for which in ("started", "last_step")
    )
    assert begun[0].value < last[0].value < time.time()
    assert {sample.labels["what"] for sample in measured.query(f"rackmark_benchmark_simulated{of_run}")} == {
        "nodes",
        "accelerators",
    }


def test_every_query_of_every_panel_answers(measured):
    measured.cluster.wait_until(
        lambda: measured.query("rackmark_benchmark_throughput") and measured.query("rate(node_cpu_seconds_total[1m])"),
        "there is something to show",
        pause=2,
    )
    assert panels_without_an_answer(measured) <= EMPTY_WHEN_WELL | EMPTY_WHEN_IDLE | NOT_HERE


def test_grafana_is_given_the_dashboards_and_a_datasource(monitored):
    files = monitored.cluster.on("head", "ls /etc/grafana/rackmark-dashboards").split()
    assert files == sorted(f"{each.uid}.json" for each in dashboards.dashboards("", ""))
    sources = monitored.cluster.on("head", "cat /etc/grafana/provisioning/datasources/*.y*ml")
    assert "rackmark-prometheus" in sources
    assert monitored.cluster.on("head", f"cat {FOLDER}/password") not in sources


def test_the_cluster_is_well_and_nothing_fires(measured):
    measured.cluster.wait_until(lambda: not measured.firing(), "no alert is left", 180, pause=3)


def test_dcgm_exporter_takes_the_place_of_ours_and_gives_it_back(monitored, whole, tmp_path):
    packages = [
        {"name": name, "version": "4.5.0", "file": str(path), "sha256": sha256(path)}
        for name, path in zip(DCGM, build_dcgm(tmp_path, "4.5.0"))
    ]
    roles = "--tags accelerator_exporter,dcgm_exporter,prometheus"
    chosen = {"accelerator_exporter_nvidia": "dcgm", "dcgm_exporter_archive": packages}
    power = 'count(rackmark_accelerator_power_watts{instance="node1",vendor="nvidia"})'
    whole.play("site.yml", cmdline=roles, **chosen).succeeded()
    assert whole.play("site.yml", cmdline=roles, **chosen).succeeded().changed == []
    monitored.cluster.wait_until(lambda: monitored.targets().get(("dcgm", "node1")) == "up", "DCGM is read", pause=2)
    assert ("accelerator", "node1") not in monitored.targets()
    assert monitored.cluster.on("node1", "systemctl is-active rackmark-accelerator-exporter || true") == "inactive"
    # By the recording rules, under the names of our own exporter.
    monitored.cluster.wait_until(lambda: monitored.value(power) == 8, "8 devices have the usual names", pause=2)
    assert answered(f"https://{ADDRESSES['node1']}:9400/metrics") == 401

    whole.play("site.yml", cmdline=roles).succeeded()
    assert whole.play("site.yml", cmdline=roles).succeeded().changed == []
    assert monitored.cluster.on("node1", "systemctl is-active nvidia-dcgm-exporter || true") == "inactive"
    # One that somebody else has set up is left alone.
    monitored.cluster.on("node1", "systemctl daemon-reload && systemctl start nvidia-dcgm-exporter")
    assert whole.play("site.yml", cmdline=roles).succeeded().changed == []
    assert monitored.cluster.on("node1", "systemctl is-active nvidia-dcgm-exporter || true") == "active"
    monitored.cluster.on("node1", "systemctl stop nvidia-dcgm-exporter")
    monitored.wait_until_all_are_up()
    assert monitored.targets() == dict.fromkeys(TARGETS, "up")

"""The cluster with devices of two vendors, as its exporters, Prometheus and a simulated Grafana see it."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.request

import pytest
from lab import stub_grafana
from lab.accelerated import GATEWAY
from lab.monitoring import Monitoring
from lab.stub_packages import STUBS
from rackmark import dashboards

NETWORK = GATEWAY.rpartition(".")[0]
HOSTS = ("head", "node1", "node2", "node3")
TARGETS = {
    *(("node", host) for host in HOSTS),
    *(("accelerator", host) for host in ("node1", "node2")),
    *((job, "head") for job in ("slurm", "prometheus", "alertmanager")),
}
UNITS = {
    "head": [
        "prometheus",
        "prometheus-alertmanager",
        "prometheus-node-exporter",
        "rackmark-slurm-exporter",
        "grafana-server",
    ],
    "node1": ["prometheus-node-exporter", "rackmark-accelerator-exporter"],
    "node2": ["prometheus-node-exporter", "rackmark-accelerator-exporter"],
    "node3": ["prometheus-node-exporter"],
}
ADDRESSES = {"head": f"{NETWORK}.2", **{f"node{number}": f"{NETWORK}.{10 + number}" for number in (1, 2, 3)}}
EXPORTERS = [*((host, 9100) for host in HOSTS), ("node1", 9401), ("node2", 9401), ("head", 9402)]
WEBHOOK_PORT, TOLD = 9999, "/var/tmp/told-of-alerts"
# Panels with something to show only while something is wrong, or while a job runs.
EMPTY_WHEN_WELL = {"Alerts firing", "Out of service"}
EMPTY_WHEN_IDLE = {"How long running jobs waited", "Trials", "Best accuracy", "GFLOPS"}


def answered(url: str, password: str = "") -> int | None:
    """The HTTP status that this machine, which is none of the cluster's, gets; None where nobody talks HTTP with it."""
    asked = urllib.request.Request(url)
    if password:
        asked.add_header("Authorization", f"Basic {base64.b64encode(f'prometheus:{password}'.encode()).decode()}")
    try:
        context = ssl._create_unverified_context()  # names are verified from the head
        with urllib.request.urlopen(asked, context=context, timeout=5) as got:
            return int(got.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except (OSError, http.client.HTTPException):
        return None


def panels_without_an_answer(monitored: Monitoring) -> set[str]:
    """Of all dashboards, those that have a query to which Prometheus has nothing to say."""
    queries = [query for each in dashboards.dashboards("rackmark", "/userhome") for query in dashboards.queries(each)]
    return {
        query.panel for query, answer in zip(queries, monitored.answers(each.expr for each in queries)) if not answer
    }


def told(monitored: Monitoring) -> set[tuple[str, str, str]]:
    """What was sent to the webhook: alert, host, and whether it fires or is over."""
    lines = monitored.cluster.on("head", f"cat {TOLD} 2>/dev/null || true").splitlines()
    alerts = [alert for line in lines for alert in json.loads(line)["alerts"]]
    return {(each["labels"]["alertname"], each["labels"].get("instance", ""), each["status"]) for each in alerts}


@pytest.fixture(scope="session")
def monitored(whole, tmp_path_factory):
    """Everything of site.yml, then Grafana from a repository too, and scraped often so that tests need not wait."""
    source = stub_grafana.make_source(tmp_path_factory.mktemp("grafana"), GATEWAY, "12.0.0")
    whole.cluster.copy(STUBS / "webhook", "head", "/var/tmp/webhook")
    whole.on("head", f"systemd-run --unit=test-webhook /var/tmp/webhook {WEBHOOK_PORT} {TOLD}")
    whole.variables |= {
        "grafana_repository": source.repository,
        "prometheus_scrape_interval": 5,
        "alertmanager_webhooks": [f"http://127.0.0.1:{WEBHOOK_PORT}/"],
    }
    whole.play("site.yml", cmdline="--tags monitoring_access,prometheus,alertmanager,grafana").succeeded()
    seen = Monitoring(whole.cluster)
    seen.wait_until_all_are_up()
    yield seen
    source.close()

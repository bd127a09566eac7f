"""Asking a cluster's Prometheus, Alertmanager and exporters from the monitoring server, where alone they answer."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any, Iterable
from urllib.parse import quote

from lab.cluster import Cluster

FOLDER = "/etc/rackmark/monitoring"
# One program there for many questions: starting one for each would take a minute for a dashboard.
_ASK = f"""
import base64, json, ssl, sys, urllib.error, urllib.request
context = ssl.create_default_context(cafile="{FOLDER}/ca.pem")
login = base64.b64encode(b"prometheus:" + open("{FOLDER}/password", "rb").read().strip()).decode()
def answer(url):
    asked = urllib.request.Request(url, headers={{"Authorization": "Basic " + login}})
    try:
        with urllib.request.urlopen(asked, context=context, timeout=20) as got:
            return [got.status, got.read().decode()]
    except urllib.error.HTTPError as refused:
        return [refused.code, refused.read().decode()]
    except OSError as failed:
        return [0, str(failed)]
print(json.dumps([answer(url) for url in json.loads(sys.argv[1])]))
"""
PROMETHEUS = "https://127.0.0.1:9090"
ALERTMANAGER = "https://127.0.0.1:9093"


@dataclass(frozen=True)
class Sample:
    labels: dict[str, str]
    value: float


@dataclass
class Monitoring:
    cluster: Cluster
    server: str = "head"

    def get(self, urls: Iterable[str]) -> list[tuple[int, str]]:
        command = f"python3 -c {shlex.quote(_ASK)} {shlex.quote(json.dumps(list(urls)))}"
        return [(status, text) for status, text in json.loads(self.cluster.on(self.server, command))]

    def scrape(self, url: str) -> str:
        ((status, text),) = self.get([url])
        assert status == 200, (url, status, text)
        return text

    def answers(self, queries: Iterable[str]) -> list[list[Sample]]:
        asked = list(queries)
        got = self.get(f"{PROMETHEUS}/api/v1/query?query={quote(query)}" for query in asked)
        return [_samples(query, text) for query, (_, text) in zip(asked, got)]

    def query(self, query: str) -> list[Sample]:
        return self.answers([query])[0]

    def value(self, query: str) -> float | None:
        """Of the one sample there is, if there is one."""
        samples = self.query(query)
        assert len(samples) <= 1, f"{query} has {len(samples)} samples"
        return samples[0].value if samples else None

    def firing(self) -> set[tuple[str, str]]:
        """Name and host of the alerts that Alertmanager knows and does not hold back."""
        alerts = json.loads(self.scrape(f"{ALERTMANAGER}/api/v2/alerts?inhibited=false"))
        return {(alert["labels"]["alertname"], alert["labels"].get("instance", "")) for alert in alerts}

    def wait_until_fires(self, alert: str, instance: str, seconds: float = 300) -> None:
        wanted = (alert, instance)
        self.cluster.wait_until(lambda: wanted in self.firing(), f"{alert} of {instance} fires", seconds, pause=3)

    def wait_until_clear(self, alert: str, instance: str, seconds: float = 300) -> None:
        wanted = (alert, instance)
        self.cluster.wait_until(lambda: wanted not in self.firing(), f"{alert} of {instance} is over", seconds, pause=3)

    def targets(self) -> dict[tuple[str, str], str]:
        """Whether each target is up, by its job and host."""
        known: dict[str, Any] = json.loads(self.scrape(f"{PROMETHEUS}/api/v1/targets?state=active"))
        return {
            (target["labels"]["job"], target["labels"]["instance"]): target["health"]
            for target in known["data"]["activeTargets"]
        }

    def wait_until_all_are_up(self, seconds: float = 120) -> None:
        self.cluster.wait_until(lambda: set(self.targets().values()) == {"up"}, "all targets are up", seconds, pause=2)


def _samples(query: str, text: str) -> list[Sample]:
    answer = json.loads(text)
    assert answer["status"] == "success", (query, answer)
    data = answer["data"]
    if data["resultType"] == "scalar":
        return [Sample({}, float(data["result"][1]))]
    return [Sample(found["metric"], float(found["value"][1])) for found in data["result"]]

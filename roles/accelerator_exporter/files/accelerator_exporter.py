"""Serves readings of a host's accelerators to Prometheus.

    accelerator_exporter.py CONFIG

CONFIG is a JSON file, made by role accelerator_exporter. A scrape gets the newest reading and its age at once.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Iterator, Mapping

from accelerator_metrics import Host, metrics
from device_sources import AscendSource, NvidiaSource
from device_watcher import DeviceWatcher, Source
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric


class Exporter:
    """A collector of prometheus_client's kind."""

    def __init__(self, host: Host, watcher: DeviceWatcher) -> None:
        self._host, self._watcher = host, watcher
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def collect(self) -> Iterator[Metric]:
        return metrics(self._host, self._watcher.state(time.monotonic()))

    def text(self) -> bytes:
        return generate_latest(self._registry)


def host_of(config: Mapping[str, Any]) -> Host:
    return Host(config["vendor"], config["devices"], config["model"], config["simulated"])


def source_of(config: Mapping[str, Any]) -> Source:
    if config["vendor"] == "ascend":
        return AscendSource(config["devices"], config["seconds"], config["model"])
    return NvidiaSource(config["devices"])


def main() -> None:
    from scrape_server import serve  # of role monitoring_access

    config = json.loads(Path(sys.argv[1]).read_text())
    watcher = DeviceWatcher(source_of(config), config["seconds"])
    watcher.start()
    web_config = Path(config["web_config"]) if config["web_config"] else None
    serve(config["listen"], Exporter(host_of(config), watcher).text, web_config)


if __name__ == "__main__":
    main()

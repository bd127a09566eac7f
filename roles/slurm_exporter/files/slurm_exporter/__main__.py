"""Serves the metrics: python3 -m slurm_exporter --listen ADDRESS:PORT."""

from __future__ import annotations

import argparse
from pathlib import Path

from scrape_server import serve

from .cache import Cache, Query
from .jobs import ask_jobs
from .metrics import Scrape
from .nodes import ask_nodes
from .searches import ask_searches
from .services import ask_controllers, ask_database

PATIENCE = 1.5  # seconds that a scrape waits for fresh answers


def cache_of_slurm(interval: float, limit: float, patience: float = PATIENCE) -> Cache:
    return Cache(
        [
            Query("nodes", lambda: ask_nodes(limit), limit, keeps=True),
            Query("jobs", lambda: ask_jobs(limit), limit, keeps=True),
            Query("searches", lambda: ask_searches(limit), limit, keeps=False),
            # That something was up is no answer to whether it is.
            Query("controllers", lambda: ask_controllers(limit), limit, keeps=False),
            Query("database", lambda: ask_database(limit), limit, keeps=False),
        ],
        interval,
        patience,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="slurm_exporter", description=__doc__)
    parser.add_argument("--listen", required=True, help="address and port")
    parser.add_argument("--web-config", type=Path, help="certificate and users; plain HTTP without")
    parser.add_argument("--interval", type=float, default=15, help="seconds between two questions of the same kind")
    parser.add_argument("--time-limit", type=float, default=25, help="seconds that Slurm has for an answer")
    arguments = parser.parse_args()
    cache = cache_of_slurm(arguments.interval, arguments.time_limit)
    cache.start()
    serve(arguments.listen, lambda: Scrape(cache.views()).text(), arguments.web_config)


if __name__ == "__main__":
    main()

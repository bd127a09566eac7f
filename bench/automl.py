"""How many nodes a search for networks keeps at training, ours and AIPerf's: simulated with costs measured just before.

python bench/automl.py --python PYTHON [--picture FILE] [--folder DIR]   about 2 minutes

PYTHON has PyTorch and Optuna, such as one in `envs` of a run's shared folder. The history is written below DIR.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "module_utils"))
from automl_simulation import Asked, Costs, Storage, share_of_files, share_of_master  # noqa: E402
from rackmark.automl.history import OPENS_PER_SECOND  # noqa: E402

NODES = (1, 4, 16, 64, 128, 256, 512, 1024)
TRIALS = {"10 s": (10.0, "lab"), "60 s": (60.0, "resnet50"), "13 min": (780.0, "resnet50")}
HOURS = 12.0
_HOURS_TO_SATURATE = 3.0
STORAGE = Storage(operations=20_000, round_trip=0.0005)
DEMANDED, SHARE = ("60 s", "13 min"), 0.99
_LESS = tuple(1000 * thousands for thousands in range(20, 0, -1))  # operations a second
FILES = 512  # of automl_costs.py

Shares = Mapping[str, Mapping[int, tuple[float, float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch and Optuna (default: this one)")
    parser.add_argument("--picture", type=Path, help="where to draw the curve")
    parser.add_argument("--folder", type=Path, help="where the history is written (default: a temporary folder)")
    options = parser.parse_args()
    measured = costs_by(options.python, options.folder)
    print_costs(measured)
    found = {name: shares(measured, length, network) for name, (length, network) in TRIALS.items()}
    print_shares(found)
    for nodes, name in itertools.product(NODES[-2:], DEMANDED):
        needed = storage_needed(measured, nodes, name)
        print(f"{nodes} nodes, trials of {name}: {SHARE} of a single node's share takes {needed:,} operations a second")
    if options.picture:
        from automl_picture import curve

        options.picture.write_bytes(curve(found))


def costs_by(python: str, folder: Path | None) -> dict[str, Any]:
    command = [python, str(ROOT / "bench/automl_costs.py"), *([str(folder)] if folder else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit("The costs could not be measured: --python needs a Python with PyTorch and Optuna.")
    return dict(json.loads(done.stdout))


def costs_of(measured: Mapping[str, Any], asked: Asked, network: str) -> Costs:
    """Those of a history as long as the search's will be at its end."""
    entries = 2 * asked.nodes * asked.horizon / asked.trial
    sizes = sorted(map(int, measured["history"]))
    history = measured["history"][str(next((size for size in sizes if size >= entries), sizes[-1]))]
    idle, news = history["look, nothing new"], history["look, all have news"]
    of_network = measured["networks"][network]
    return Costs(
        append=history["append"],
        look_file=idle / FILES,
        look_record=max(0.0, news - idle) / FILES,
        network=of_network["choosing"] + of_network["inheriting"],
        settings=history["settings"],
        begin=of_network["beginning"],
    )


def shares(measured: Mapping[str, Any], length: float, network: str) -> dict[int, tuple[float, float]]:
    """By nodes: ours and AIPerf's."""
    found = {}
    for nodes in NODES:
        asked = Asked(nodes, length, HOURS)
        costs = costs_of(measured, asked, network)
        found[nodes] = share_of_files(asked, costs, STORAGE, OPENS_PER_SECOND), share_of_master(asked, costs)
    return found


def storage_needed(measured: Mapping[str, Any], nodes: int, name: str) -> int:
    """The slowest storage with which so many nodes train as well as one."""
    length, network = TRIALS[name]
    needed = _LESS[0]
    for operations in _LESS:
        asked, single = (Asked(count, length, _HOURS_TO_SATURATE) for count in (nodes, 1))
        storage = Storage(operations, STORAGE.round_trip)
        ours, of_one = (
            share_of_files(each, costs_of(measured, each, network), storage, OPENS_PER_SECOND)
            for each in (asked, single)
        )
        if ours < SHARE * of_one:
            break
        needed = operations
    return needed


def print_costs(measured: Mapping[str, Any]) -> None:
    history: Mapping[str, Mapping[str, float]] = measured["history"]
    print(f"milliseconds by entries of a history of {FILES} files")
    print(f"{'':22}" + "".join(f"{int(entries):>12,}" for entries in history))
    for name in next(iter(history.values())):
        print(f"{name:22}" + "".join(f"{1000 * costs[name]:12.2f}" for costs in history.values()))
    print("\nmilliseconds by start network")
    networks: Mapping[str, Mapping[str, float]] = measured["networks"]
    print(f"{'':22}" + "".join(f"{name:>12}" for name in networks))
    for name in next(iter(networks.values())):
        print(f"{name:22}" + "".join(f"{1000 * costs[name]:12.1f}" for costs in networks.values()))


def print_shares(found: Shares) -> None:
    for name, by_nodes in found.items():
        single, single_of_master = by_nodes[NODES[0]]
        print(f"\ntrials of {name}, {HOURS:g} h: share of the nodes' time in training")
        print(f"{'nodes':>6}{'ours':>10}{'AIPerf':>10}{'ratio':>10}   of a single node's: ours, AIPerf's")
        for nodes, (ours, masters) in by_nodes.items():
            ratios = f"{ours / single:10.4f}{masters / single_of_master:10.4f}"
            print(f"{nodes:6}{ours:10.4f}{masters:10.4f}{ours / masters:10.2f}   {ratios}")


if __name__ == "__main__":
    main()

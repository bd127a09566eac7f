"""Whether one node can take its part of a job: everything is looked at, and every fault is said at once.

Prints `RACKMARK-NODE {"name": ..., "value": ...}` lines: facts, one `problem` per fault, and `done` at last. The lines
are short because srun mixes long ones of several nodes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any, NamedTuple

from rackmark.node import devices
from rackmark.node.code_digest import code_digest
from rackmark.node.job_record import JobRecord, RecordError, read_record
from rackmark.node.vendors import VENDORS
from shared_folder import look_at_shared_folder
from software import ask_image, ask_interpreter

PREFIX = "RACKMARK-NODE "
RUN = Path(__file__).resolve().parent.parent
LEAST_FREE_MB = 200
LEAST_SHARED_MEMORY_MB = 64


class Findings(NamedTuple):
    facts: dict[str, Any]
    problems: list[str]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="preflight.py")
    parser.add_argument("--folder", type=Path, required=True, help="where the job writes")
    parser.add_argument("--token", required=True, help="what the first node has written there")
    parser.add_argument("--first-node", required=True)
    parser.add_argument("--index", default=os.environ.get("SLURM_NODEID"), help="this node's number")
    parser.add_argument("--job", required=True)
    parser.add_argument("--dev", type=Path, default=Path("/dev"))
    return parser.parse_args(arguments)


def look(options: argparse.Namespace) -> Findings:
    parts = [
        Findings(host_facts(), []),
        Findings({"code_digest": code_digest(RUN)}, []),
        Findings(*look_at_shared_folder(options.folder, options.token, options.index, options.first_node)),
        look_at_space(options.folder),
    ]
    try:
        record = read_record(options.folder)
    except RecordError as error:  # of a folder that is another one, that is said already
        parts.append(Findings({}, [] if parts[1].problems else [str(error)]))
    else:
        parts += [look_at_devices(record, options.dev), look_at_software(record, options.job)]
        if record.dataset:
            from dataset import check_dataset  # most of what this program would have to import

            dataset, problems = check_dataset(record.data, Path(record.dataset))
            package = f" Install the package {record.data_package} on this node, or name other data with -e data=."
            hint = package if record.data_package and dataset is None else ""
            parts.append(Findings({"dataset": dataset}, [problem + hint for problem in problems]))
    facts = {name: value for part in parts for name, value in part.facts.items()}
    return Findings(facts, [problem for part in parts for problem in part.problems])


def host_facts() -> dict[str, Any]:
    memory = _field("/proc/meminfo", "MemTotal", ":")
    return {
        "cpus": os.cpu_count(),
        "memory_mb": int(memory.split()[0]) // 1024 if memory else None,
        "model": _field("/proc/cpuinfo", "model name", ":") or platform.machine(),
        "os": _field("/etc/os-release", "PRETTY_NAME", "="),
        "kernel": platform.release(),
    }


def _field(path: str, name: str, separator: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition(separator)
        if key.strip() == name:
            return value.strip().strip('"')
    return None


def look_at_space(folder: Path) -> Findings:
    facts: dict[str, Any] = {}
    problems = []
    for name, place, least in (
        ("free_mb", folder, LEAST_FREE_MB),
        ("tmp_free_mb", Path("/tmp"), LEAST_FREE_MB),
        ("shm_free_mb", Path("/dev/shm"), LEAST_SHARED_MEMORY_MB),
    ):
        try:
            usage = os.statvfs(place)
        except OSError as error:
            facts[name] = None
            if place != folder:  # of the folder itself it has been said
                problems.append(f"{place} cannot be used: {error.strerror}.")
            continue
        facts[name] = usage.f_bavail * usage.f_frsize // 2**20
        if facts[name] < least:
            problems.append(
                f"{place} has {facts[name]} MB free, and a job needs {least} MB. Remove what is not needed there."
            )
        elif place != folder and not os.access(place, os.W_OK):
            problems.append(f"{place} cannot be written to.")
    return Findings(facts, problems)


def look_at_devices(record: JobRecord, dev: Path) -> Findings:
    vendor, expected = record.accelerator, record.devices_per_node
    if vendor not in VENDORS:
        return Findings({"devices": [], "driver": None}, [])
    found = devices.job_devices(vendor, dev)
    problems = []
    if len(found) < expected:
        files = len(devices.device_files(vendor, dev))
        problems.append(
            f"The job can use {len(found)} {vendor} devices and needs {expected}; {files} device files are in {dev}."
            " Ask Slurm for them (--gres), or look at the node's driver."
        )
    listed = devices.count_for_job(vendor)
    if listed is not None and listed < expected:
        problems.append(f"The driver lists {listed} {vendor} devices, and the job needs {expected}.")
    problems += [
        f"{user} already works on the devices. End it, or take another node." for user in devices.users(vendor, found)
    ]
    facts: dict[str, Any] = {"devices": [str(path) for path in found], "driver": devices.driver_version(vendor)}
    if record.rank_table_form:
        from rank_table_file import look_at_addresses  # what few jobs need

        more, faults = look_at_addresses(record, found)
        facts.update(more)
        problems += faults
    return Findings(facts, problems)


def look_at_software(record: JobRecord, job: str) -> Findings:
    program, package = record.program[0], record.package or None
    if record.image:
        return Findings(*ask_image(record.image, program, package, job))
    return Findings(*ask_interpreter(program, package))


def main() -> None:
    findings = look(parse(sys.argv[1:]))
    lines = [*findings.facts.items(), *(("problem", problem) for problem in findings.problems), ("done", True)]
    for name, value in lines:
        print(PREFIX + json.dumps({"name": name, "value": value}))


if __name__ == "__main__":
    main()

"""HCCL's rank table of a job, by what its nodes said of their devices before the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from allocation import Allocation
from network import address_of
from rackmark.node.device_network import addresses
from rackmark.node.devices import number_of
from rackmark.node.job_record import JobRecord
from rackmark.node.rank_table import Device, RankTableError, Server, written
from rackmark.node.super_pods import super_pod

ASCEND = "ascend"
_WITHOUT = "or go without a table: -e benchmark_rank_table=off."


class Told(NamedTuple):
    facts: dict[str, Any]
    problems: list[str]


def look_at_addresses(record: JobRecord, devices: Sequence[Path]) -> Told:
    """What a node says of the devices that it gives to a job."""
    numbers = [number_of(ASCEND, path) for path in devices[: record.devices_per_node]]
    found = addresses(numbers)
    facts: dict[str, Any] = {"device_addresses": dict(found.addresses)}
    if record.rank_table_form == "1.2":
        pod = super_pod()
        facts["super_pod"] = {"name": pod.name, "devices": {str(number): id for number, id in pod.devices.items()}}
    return Told(facts, list(found.problems))


def rank_table(job: Allocation, form: str, nodes: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """The table and what is wrong with it; `nodes` are the facts of each, in the order of their ranks."""
    problems = [problem for name, facts in nodes.items() for problem in _unknown(job, form, name, facts)]
    if problems:
        return "", problems
    try:
        return written(form, [_server(job, name, facts) for name, facts in nodes.items()]), []
    except RankTableError as error:
        return "", [f"The rank table cannot be written. {error}"]


def _unknown(job: Allocation, form: str, name: str, facts: Mapping[str, Any]) -> Iterator[str]:
    numbers = _numbers(job, facts)
    lacking = [number for number in numbers if str(number) not in facts["device_addresses"]]
    if lacking:
        yield (
            f"{name}: {_the(lacking, 'address')} not known, which the rank table needs: give ascend_device_addresses"
            f" and run site.yml --tags ascend, {_WITHOUT}"
        )
    lacking = [number for number in numbers if str(number) not in facts.get("super_pod", {}).get("devices", {})]
    if form == "1.2" and lacking:
        yield (
            f"{name}: {_the(lacking, 'super_device_id')} not known: 'npu-smi info -t spod-info' does not tell it, as on"
            " nodes that are in no super pod, where -e benchmark_rank_table=1.0 is right."
        )


def _the(numbers: Sequence[int], what: str) -> str:
    if len(numbers) == 1:
        return f"The {what} of device {numbers[0]} is"
    return f"Of devices {', '.join(map(str, numbers))} the {what} is"


def _server(job: Allocation, name: str, facts: Mapping[str, Any]) -> Server:
    pod = facts.get("super_pod", {"name": "", "devices": {}})
    devices = [
        Device(number, facts["device_addresses"][str(number)], pod["devices"].get(str(number), ""))
        for number in _numbers(job, facts)
    ]
    return Server(name, address_of(name, job.nodes[0]) or "", devices, pod["name"])


def _numbers(job: Allocation, facts: Mapping[str, Any]) -> list[int]:
    return [number_of(ASCEND, Path(path)) for path in facts["devices"][: job.record.devices_per_node]]

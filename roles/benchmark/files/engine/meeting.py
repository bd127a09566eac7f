"""What a process is told: who it is, and how it finds the others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, Mapping

from allocation import HOSTFILE
from network import address_of, interface_towards
from rackmark.node.job_record import JobRecord

RANK_TABLE = "rank_table.json"
SECONDS_TO_MEET = 600  # what Horovod and HCCL allow by themselves is too short for many nodes
Variables = Dict[str, object]


@dataclass(frozen=True)
class Place:
    """`address` is the name or address of the process's own node, `master` where processes meet."""

    rank: int
    local_rank: int
    node_rank: int
    address: str
    master: str
    port: int


def environment(record: JobRecord, place: Place, folder: Path) -> dict[str, str]:
    """This program's own environment and what the process is told. What a person has set as tuning stays."""
    told, tuning = _own_place(record, place), _tuning(record, place)
    meeting = _by_rank_table if record.rank_table_form else MEETINGS[record.meet]
    told.update(meeting(record, place, folder))
    return {**_texts(tuning), **os.environ, **_texts(told)}


def _texts(variables: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in variables.items()}


def _own_place(record: JobRecord, place: Place) -> Variables:
    told: Variables = {
        "RANK": place.rank,
        "WORLD_SIZE": record.world_size,
        "LOCAL_RANK": place.local_rank,
        "LOCAL_WORLD_SIZE": record.processes_per_node,
        "NODE_RANK": place.node_rank,
        "MASTER_ADDR": place.master,
        "MASTER_PORT": place.port,
        "RACKMARK_NODES": record.nodes,
        "RACKMARK_DEVICES_PER_NODE": record.devices_per_node,
        "RACKMARK_HOSTFILE": Path.cwd() / HOSTFILE,
    }
    if record.threads or record.ranks != "job":  # what starts processes of its own shares processors out by itself
        told["OMP_NUM_THREADS"] = record.threads or share_of_processors(record.processes_per_node)
    return told


def share_of_processors(processes_per_node: int) -> int:
    """Never more than this one may run on."""
    allowed = len(os.sched_getaffinity(0))
    on_node = int(os.environ.get("SLURM_CPUS_ON_NODE", allowed))
    return max(1, min(allowed, on_node // processes_per_node))


def _tuning(record: JobRecord, place: Place) -> Variables:
    """Libraries would otherwise guess over which interface they talk."""
    interface = interface_towards(place.address, place.master)
    meetings = [record.meet, *(["hccl"] if record.accelerator == "ascend" and record.meet != "none" else [])]
    tuning: Variables = {}
    for meet in meetings:
        tuning.update(_WAITING.get(meet, {}))
        if interface is not None:
            tuning.update({name: form.format(interface) for name, form in _INTERFACES.get(meet, {}).items()})
    return tuning


_SOCKETS = {"GLOO_SOCKET_IFNAME": "{}", "NCCL_SOCKET_IFNAME": "{}"}
_INTERFACES: Mapping[str, Mapping[str, str]] = {
    "torch": _SOCKETS,
    "horovod": {**_SOCKETS, "HOROVOD_GLOO_IFACE": "{}"},
    "mindspore": _SOCKETS,
    "hccl": {**_SOCKETS, "HCCL_SOCKET_IFNAME": "={}"},  # with = it is the whole name, not the begin of one
}
_WAITING: Mapping[str, Variables] = {
    "horovod": {"HOROVOD_GLOO_TIMEOUT_SECONDS": SECONDS_TO_MEET},
    "mindspore": {"MS_TOPO_TIMEOUT": SECONDS_TO_MEET},
    "hccl": {"HCCL_CONNECT_TIMEOUT": SECONDS_TO_MEET},
}


def _nothing_more(_record: JobRecord, _place: Place, _folder: Path) -> Variables:
    return {}


def _horovod(record: JobRecord, place: Place, _folder: Path) -> Variables:
    """The program of rank 0 serves the rendezvous."""
    return {
        "HOROVOD_RANK": place.rank,
        "HOROVOD_SIZE": record.world_size,
        "HOROVOD_LOCAL_RANK": place.local_rank,
        "HOROVOD_LOCAL_SIZE": record.processes_per_node,
        "HOROVOD_CROSS_RANK": place.node_rank,
        "HOROVOD_CROSS_SIZE": record.nodes,
        "HOROVOD_HOSTNAME": place.address,
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": place.master,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": place.port,
    }


def _mindspore(record: JobRecord, place: Place, _folder: Path) -> Variables:
    """The program of rank 0 starts the scheduler, beside its own part as a worker."""
    own = address_of(place.address, place.master)
    return {
        "MS_WORKER_NUM": record.world_size,
        "MS_SCHED_HOST": address_of(place.master, place.master) or place.master,
        "MS_SCHED_PORT": place.port,
        "MS_ROLE": "MS_WORKER",
        "MS_NODE_ID": place.rank,
        **({} if own is None else {"MS_WORKER_IP": own}),
    }


def _by_rank_table(record: JobRecord, place: Place, folder: Path) -> Variables:
    """HCCL knows all ranks by the table; what starts processes of its own tells them who they are."""
    told: Variables = {"RANK_TABLE_FILE": folder / RANK_TABLE}
    if record.rank_table_form == "lab":
        told["MINDSPORE_HCCL_CONFIG_PATH"] = folder / RANK_TABLE  # what MindSpore called it then
    if record.ranks == "device":
        told.update(_hccl(record, place, folder))
    if record.rank_table_form == "tensorflow":
        told["JOB_ID"] = os.environ.get("SLURM_JOB_ID", "0")
        if record.ranks == "device":
            told.update({"RANK_ID": place.address, "DEVICE_INDEX": place.rank})  # the pod's name is the node's
    return told


def _hccl(record: JobRecord, place: Place, folder: Path) -> Variables:
    table = folder / RANK_TABLE
    return {
        "RANK_ID": place.rank,
        "RANK_SIZE": record.world_size,
        "DEVICE_ID": place.local_rank,
        "ASCEND_DEVICE_ID": place.local_rank,
        **({"RANK_TABLE_FILE": table} if table.is_file() else {}),
    }


MEETINGS: Mapping[str, Callable[[JobRecord, Place, Path], Variables]] = {
    "torch": _nothing_more,
    "horovod": _horovod,
    "mindspore": _mindspore,
    "hccl": _hccl,
    "none": _nothing_more,
}

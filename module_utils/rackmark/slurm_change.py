"""What a change of Slurm's configuration takes to come into force."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Mapping

# A running slurmctld takes these over. Whatever is not named here gets a restart, which running jobs survive as well.
TAKEN_OVER = {
    "batchstarttimeout",
    "completewait",
    "debugflags",
    "defmempercpu",
    "defmempernode",
    "enforcepartlimits",
    "epilog",
    "healthcheckinterval",
    "healthchecknodestate",
    "healthcheckprogram",
    "inactivelimit",
    "jobrequeue",
    "killwait",
    "mailprog",
    "maxmempercpu",
    "maxmempernode",
    "messagetimeout",
    "minjobage",
    "overtimelimit",
    "partitionname",
    "prioritydecayhalflife",
    "priorityfavorsmall",
    "prioritymaxage",
    "priorityweightage",
    "priorityweightassoc",
    "priorityweightfairshare",
    "priorityweightjobsize",
    "priorityweightpartition",
    "priorityweightqos",
    "priorityweighttres",
    "privatedata",
    "prolog",
    "prologepilogtimeout",
    "propagateresourcelimits",
    "propagateresourcelimitsexcept",
    "returntoservice",
    "schedulerparameters",
    "slurmctlddebug",
    "slurmctldtimeout",
    "slurmddebug",
    "slurmdtimeout",
    "taskepilog",
    "taskprolog",
    "unkillablesteptimeout",
    "waittime",
}
# What slurmd reads only when it starts.
READ_AT_START_OF_SLURMD = {
    "acctgathernodefreq",
    "authtype",
    "gres",
    "grestypes",
    "jobacctgatherfrequency",
    "jobacctgathertype",
    "launchparameters",
    "mpidefault",
    "plugindir",
    "proctracktype",
    "prologflags",
    "slurmctldport",
    "slurmdlogfile",
    "slurmdport",
    "slurmdspooldir",
    "switchtype",
    "taskplugin",
    "taskpluginparam",
}
_WHOLE_LINES = {"nodename", "partitionname", "nodeset", "downnodes"}


@dataclass(frozen=True)
class Effect:
    """`how` is nothing, reconfigure or restart; `changed` names the parameters and files behind it."""

    how: str
    changed: list[str]


def parameters(text: str) -> dict[str, str]:
    """Parameters by their name in lower case; lines that may come several times by their first word."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        statement = re.sub(r"(?<!\\)#.*", "", line).strip()
        key, equals, value = statement.partition("=")
        if not equals:
            continue
        key = key.strip().lower()
        if key in _WHOLE_LINES:
            found[f"{key}={value.split()[0] if value.split() else ''}"] = value
        else:
            found[key] = f"{found[key]},{value.strip()}" if key in found else value.strip()
    return found


def effect(old: Mapping[str, str], new: Mapping[str, str]) -> Effect:
    """Between two sets of files, by file name. slurm.conf decides; the other files are handed on by a reconfigure."""
    before, after = (parameters(files.get("slurm.conf", "")) for files in (old, new))
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    files = sorted(name for name in {*old, *new} - {"slurm.conf"} if old.get(name) != new.get(name))
    if any(key.partition("=")[0] not in TAKEN_OVER for key in changed):
        return Effect("restart", changed + files)
    return Effect("reconfigure" if changed or files else "nothing", changed + files)


def slurmd_digest(files: Mapping[str, str]) -> str:
    """Changes exactly when slurmd has to start again; adding nodes or partitions leaves it as it is."""
    found = parameters(files.get("slurm.conf", ""))
    at_start = {key: value for key, value in found.items() if key in READ_AT_START_OF_SLURMD}
    nodes = (value.partition(" ")[2] for key, value in found.items() if key.startswith("nodename="))
    hardware = sorted({re.sub(r"Node(?:Hostname|Addr)=\S+ ", "", words) for words in nodes})
    others = {name: text for name, text in sorted(files.items()) if name != "slurm.conf"}
    return hashlib.sha256(repr((at_start, hardware, _without_names(others))).encode()).hexdigest()[:16]


def _without_names(files: Mapping[str, str]) -> list[str]:
    return sorted({re.sub(r"NodeName=\S+ ?", "", line) for text in files.values() for line in text.splitlines()})

"""Filters that shape inventory data for templates."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import importlib.util
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

from ansible.errors import AnsibleFilterError
from ansible.inventory.manager import split_host_pattern

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import credentials, host_names, hostlist, installed, shipping, slurm_change, slurm_conf
from rackmark.flagperf import images
from rackmark.flagperf.importing import read_flagperf
from rackmark.inventory_check import selection
from rackmark.node.vendors import VENDORS
from rackmark.run import queues, workload_folder


def hosts_lines(hostvars: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Lines of /etc/hosts for every host of the inventory, by the address that Ansible reaches it at."""
    lines = []
    for name in sorted(names):
        address = str(hostvars[name].get("ansible_host", name))
        if not host_names.is_address(address):
            raise AnsibleFilterError(
                f"{name} has no address: give it ansible_host with an IP address in the inventory"
                f" (now {address!r}); nodes find each other by these, without DNS."
            )
        lines.append(" ".join([address, *dict.fromkeys([name, host_names.short(name)])]))
    return lines


def with_own_name(lines: Iterable[str], host: Mapping[str, Any], name: str, names: Iterable[str]) -> list[str]:
    """The lines of a host's own /etc/hosts, in which it is also found by what it calls itself.

    Programs on a machine ask for that name. No other host is told of it: what one machine says of itself would become
    a name that all of them believe in.
    """
    fault = host_names.fault_of_own_name(name, host, names)
    if fault:
        raise AnsibleFilterError(fault)
    own = host_names.own_names({name: host})[name]
    return [f"{line} {own}" if line.split()[1] == name and own not in line.split() else line for line in lines]


def known_hosts_lines(hostvars: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Lines of ssh_known_hosts by the facts of each host, for those whose facts are known."""
    lines = []
    for name in sorted(names):
        entry = host_names.known_hosts_entry(hostvars[name].get("ansible_facts", {}))
        if entry:
            address = str(hostvars[name].get("ansible_host", name))
            lines.append(f"{','.join(dict.fromkeys([name, host_names.short(name), address]))} {entry}")
    return lines


def lacking_fact(
    hostvars: Mapping[str, Any], names: Iterable[str], fact: str, oldest: float | None = None
) -> list[str]:
    """Hosts of which the fact is not known, or whose facts are older than so many seconds, by their own clocks."""
    known = {name: hostvars[name].get("ansible_facts", {}) for name in sorted(names)}
    since = 0 if oldest is None else time.time() - oldest
    return [name for name, facts in known.items() if fact not in facts or _epoch(facts) < since]


def _epoch(facts: Mapping[str, Any]) -> int:
    """When facts were gathered, as their host says; 0 where it says nothing that could be a time."""
    text = str(facts.get("date_time", {}).get("epoch", 0))
    return int(text) if text.isdecimal() else 0


def other_systems(hostvars: Mapping[str, Any], names: Iterable[str], releases: list[str]) -> list[str]:
    """Hosts whose release is none of these, each with what it runs."""
    facts = {name: hostvars[name].get("ansible_facts", {}) for name in names}
    return [
        f"{name} ({known.get('distribution')} {known.get('distribution_version')})"
        for name, known in sorted(facts.items())
        if known.get("distribution_release") not in releases
    ]


def chosen_hosts(wanted: str | list[str], groups: Mapping[str, list[str]], among: str) -> list[str]:
    """The hosts that an operator names on the command line: names, node[1-3], groups; only members of one group."""
    words = wanted if isinstance(wanted, list) else hostlist.expand(str(wanted))
    names = list(dict.fromkeys(name for word in words for name in groups.get(word, [word])))
    strangers = sorted(set(names) - set(groups.get(among, [])))
    if strangers or not names:
        raise AnsibleFilterError(
            f"nodes={wanted} names {hostlist.compact(strangers) or 'no host'}, and the inventory's {among} has"
            f" {hostlist.compact(groups.get(among, [])) or 'none'}: use those, as in nodes=node3 or nodes=node[3-5]."
        )
    return names


def this_machine(limit: str) -> str:
    """For the hosts of a play that works on localhost: a limit without it would pass the play over, and end well."""
    if limit and not selection.has_this_machine(split_host_pattern(limit)):
        raise AnsibleFilterError(
            f"--limit {limit} leaves out localhost, the machine on which this playbook works, and nothing would be done:"
            " leave --limit out; where nodes can be chosen, -e nodes= names them."
        )
    return "localhost"


def _slurm_filter(lines_of: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """A filter over the hosts of the inventory by name, whose complaints are sentences."""

    def lines(hostvars: Mapping[str, Any], names: Iterable[str], *options: int) -> list[str]:
        try:
            return lines_of({name: hostvars[name] for name in names}, *options)
        except ValueError as error:
            raise AnsibleFilterError(str(error)) from error

    return lines


def typed_command(program: str) -> str:
    """The command line of this Ansible run, of the program of that name, without secrets."""
    return shlex.join([program, *map(credentials.hidden_values, sys.argv[1:])])


def files_in(folder: str, name: str) -> dict[str, str]:
    """Content of the Python and shell files of a folder, by their path in a folder of another name."""
    programs = (path for path in sorted(Path(folder).iterdir()) if path.suffix in (".py", ".sh"))
    return {f"{name}/{path.name}": path.read_text() for path in programs}


def packed_code(folder: str) -> str:
    """All files that travel with a run of a workload as text: an archive in Base64."""
    return base64.b64encode(workload_folder.packed(Path(folder))).decode()


def module_file(module: str, name: str) -> dict[str, str]:
    """Content of a module of one file that this Python has, by its path in a folder; nothing where it has none."""
    found = importlib.util.find_spec(module)
    return {f"{name}/{module}.py": Path(found.origin).read_text()} if found and found.origin else {}


def accelerator_vendor(name: str) -> dict[str, Any]:
    """What templates need of a vendor of accelerators."""
    vendor = VENDORS[name]
    return {
        "device_prefix": vendor.device_prefix,
        "common_files": list(vendor.common_files),
        "visible_variable": vendor.visible_variable,
    }


def queue_traits(launcher: str) -> dict[str, Any]:
    """What there is to know of the queue that a launcher stands for."""
    if launcher not in queues.TRAITS:
        raise AnsibleFilterError(f"launcher={launcher} is unknown: use {', '.join(sorted(queues.TRAITS))}.")
    return dataclasses.asdict(queues.TRAITS[launcher])


def of_begun_run(run_id: str, name: str, otherwise: str, benchmark_dir: str) -> str:
    """What the record of a run says that was begun from this machine alone, so that nobody has to say it again."""
    path = Path(benchmark_dir).expanduser() / "runs" / str(run_id) / "manifest.json"
    if not run_id or Path(str(run_id)).name != str(run_id):
        return otherwise
    try:
        manifest = json.loads(path.read_text())
    except (OSError, ValueError):
        return otherwise
    launcher = queues.TRAITS.get(manifest.get("launcher"))
    return str(manifest.get(name, otherwise)) if launcher is not None and not launcher.engine else otherwise


def reports_folder(root: str) -> str:
    """Where reports go, on the machine that Ansible runs on; `root` is where Rackmark lies."""
    return str(installed.reports_folder(Path(root), Path.cwd()))


def workload_name(folder: str) -> str:
    """What the workload of a folder calls itself."""
    try:
        return str(workload_folder.load(Path(folder)).get("name", ""))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def flagperf_images(checkout: str, cases: str) -> list[dict[str, Any]]:
    """The images that cases of a checkout run in, each with its name and files."""
    try:
        found = images.images_of(read_flagperf(Path(checkout).expanduser(), cases))
    except (ValueError, OSError) as error:
        raise AnsibleFilterError(str(error)) from error
    return [image._asdict() for image in found]


def image_folder(name: str, parent: str) -> str:
    return f"{parent}/{name.partition(':')[0]}"


def image_files(image: Mapping[str, Any], parent: str) -> list[dict[str, str]]:
    """For the module host_files."""
    folder = image_folder(image["name"], parent)
    return [{"path": f"{folder}/{name}", "content": text} for name, text in image["files"].items()]


def inventory_digest(sources: Iterable[str]) -> str:
    """One word for the content of all files of an inventory, so that two runs can be seen to have had the same."""
    digest = hashlib.sha256()
    for source in map(Path, sources):
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "accelerator_vendor": accelerator_vendor,
            "files_in": files_in,
            "has_credentials": credentials.has_credentials,
            "flagperf_images": flagperf_images,
            "hostlist": hostlist.compact,
            "chosen_hosts": chosen_hosts,
            "hosts_lines": hosts_lines,
            "image_files": image_files,
            "image_folder": image_folder,
            "inventory_digest": inventory_digest,
            "known_hosts_lines": known_hosts_lines,
            "lacking_fact": lacking_fact,
            "module_file": module_file,
            "other_systems": other_systems,
            "packed_code": packed_code,
            "queue_traits": queue_traits,
            "reports_folder": reports_folder,
            "of_begun_run": of_begun_run,
            "slurm_controller_word": lambda hostvars, name: slurm_conf.controller_word(name, hostvars[name]),
            "slurm_gres_lines": _slurm_filter(slurm_conf.gres_lines),
            "slurm_node_lines": _slurm_filter(slurm_conf.node_lines),
            "slurmd_digest": slurm_change.slurmd_digest,
            "this_machine": this_machine,
            "typed_command": typed_command,
            "with_node_room": shipping.with_node_room,
            "with_own_name": with_own_name,
            "workload_name": workload_name,
            "without_credentials": credentials.without_credentials,
        }

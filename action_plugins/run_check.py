"""Ansible action: refuse a run that would not do what its command line says, or that another run is in the way of."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import Any, Iterable, Iterator

from ansible import context
from ansible.inventory.manager import InventoryManager, split_host_pattern
from ansible.parsing.dataloader import DataLoader
from ansible.playbook import Playbook
from ansible.playbook.block import Block
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.utils.collection_loader._collection_finder import _get_collection_playbook_path
from ansible.utils.vars import load_extra_vars
from ansible.vars.manager import VariableManager

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import hostlist, run_lock
from rackmark.inventory_check import selection
from rackmark.inventory_check.values import Fault

WHERE_A_HOST_IS = ("ansible_host", "ansible_port", "ansible_ssh_common_args")
OPTIONS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "leaving": {"type": "list", "elements": "str", "default": []},
    "every_host": {"type": "bool", "default": False},
    "controller": {"type": "bool", "default": False},
    "changes": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):
    """Runs on the machine that Ansible runs on, and connects to no host."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(OPTIONS)
        groups = (task_vars or {})["groups"]
        playbooks = list(context.CLIARGS["args"])
        self._playbook = " ".join(Path(path).name for path in playbooks)

        faults = list(selection.limit_faults(_patterns(context.CLIARGS["subset"]), groups["all"], groups))
        faults += selection.extra_faults(load_extra_vars(self._loader))
        faults += self._tags(playbooks)
        if args["every_host"]:
            faults += self._left_out(set(groups["all"]) - set(args["hosts"]) - set(args["leaving"]))
        if args["controller"] and context.CLIARGS["subset"]:
            faults += self._without_controller(set(groups.get("slurm_controller", [])[:1]) - set(args["hosts"]))
        if args["changes"] and not faults and not self._task.check_mode:
            faults += self._lock(task_vars or {})
        said = "\n".join(f"{fault.what}: {fault.fix}" for fault in faults)
        return {**result, "changed": False, "failed": bool(faults), "msg": said or "The run can begin."}

    def _tags(self, playbooks: list[str]) -> Iterator[Fault]:
        asked, skipped = list(context.CLIARGS["tags"] or ["all"]), list(context.CLIARGS["skip_tags"] or [])
        if asked == ["all"] and not skipped:
            return  # reading the playbooks takes a part of a second
        tasks = list(_tasks(playbooks))
        known = {tag for task in tasks for tag in task.tags}
        has_tags = known > {"always"}  # which is this check's own
        is_a_whole = has_tags and not all(task.tags for task in tasks)
        in_part = list(selection.part_faults(asked, is_a_whole, self._playbook))
        yield from in_part or selection.tag_faults("--tags", asked, known, self._playbook)
        yield from selection.tag_faults("--skip-tags", skipped, known, self._playbook)

    def _left_out(self, names: set[str]) -> Iterator[Fault]:
        if names:
            several = hostlist.compact(names)
            yield Fault(
                f"--limit leaves out {several}, and {self._playbook} needs every host of the inventory",
                "leave --limit out; a host that is gone for good first leaves the cluster"
                f" (playbooks/remove_nodes.yml -e nodes={several}) and the inventory.",
            )

    def _without_controller(self, names: set[str]) -> Iterator[Fault]:
        for name in names:
            what = f"--limit leaves out {name}, and {self._playbook} asks Slurm there"
            yield Fault(what, "leave --limit out; the nodes that are meant are named with -e nodes=.")

    def _lock(self, task_vars: dict[str, Any]) -> Iterator[Fault]:
        controllers = task_vars["groups"].get("slurm_controller")
        if not controllers:
            return
        variables = task_vars["hostvars"].raw_get(controllers[0])
        place = (str(variables.get(name, "")) for name in WHERE_A_HOST_IS)
        cluster = " ".join([controllers[0], *place])
        # This is a child of Ansible's own process, which lives as long as the run.
        holder = run_lock.take(cluster, os.getppid(), getpass.getuser(), self._playbook)
        if holder:
            yield Fault(
                f"{holder.playbook} of {holder.user} has been changing this cluster since {holder.since:%H:%M:%S}"
                f" (process {holder.pid} of this machine)",
                "wait until it has ended, or end it.",
            )


def _patterns(limit: str | None) -> Iterator[str]:
    for pattern in split_host_pattern(limit) if limit else []:
        if pattern.startswith("@"):
            yield from filter(None, map(str.strip, Path(pattern[1:]).read_text().splitlines()))
        else:
            yield pattern


def _tasks(playbooks: list[str]) -> Iterator[Task]:
    """As --list-tasks knows them: what is included while playbooks run has the tags of the task that includes it."""
    for name in playbooks:
        in_collection = _get_collection_playbook_path(name)  # rackmark.core.site
        path = in_collection[1] if in_collection else name
        loader = DataLoader()
        loader.set_basedir(str(Path(path).resolve().parent))
        manager = VariableManager(loader=loader, inventory=InventoryManager(loader=loader, parse=False))
        for play in Playbook.load(path, variable_manager=manager, loader=loader).get_plays():
            for block in play.compile():
                yield from _in(block.block)


def _in(items: Iterable[Block | Task]) -> Iterator[Task]:
    for item in items:
        if isinstance(item, Block):
            yield from _in([*item.block, *item.rescue, *item.always])
        elif not item.implicit:
            yield item

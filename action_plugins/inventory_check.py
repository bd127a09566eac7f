"""Ansible action: find everything that is wrong with the inventory, without logging in anywhere."""

from __future__ import annotations

import contextlib
import re
import sys
from collections import ChainMap
from pathlib import Path
from typing import Any, Iterable, Mapping

from ansible import context
from ansible.errors import AnsibleError, AnsibleUndefinedVariable
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import EncryptedString
from ansible.plugins.action import ActionBase
from ansible.template import Templar
from ansible.utils.vars import load_extra_vars

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.inventory_check import cluster, names, probe, size, values
from rackmark.inventory_check.problems import COMMAND_LINE, Problems
from rackmark.role_specs import read_roles, without_null

SSH_CONNECTIONS = ("ssh", "ansible.builtin.ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.paramiko_ssh")
SSH_ARGUMENTS = ("ansible_ssh_common_args", "ansible_ssh_extra_args")
SSH_OPTIONS = ("ssh_common_args", "ssh_extra_args")
# Magic variables and facts: large, and nothing that an operator writes.
NOT_OPERATORS = ("groups", "hostvars", "ansible_facts", "vars")
OPTIONS = {
    "roles": {"type": "path", "required": True},
    "command_line": {"type": "dict", "required": True},
    "only_variables": {"type": "bool", "default": False},
    "leaving": {"type": "list", "elements": "str", "default": []},
    "probe": {"type": "list", "elements": "str", "default": []},
    "every_host": {"type": "bool", "default": False},
}
# Known only while a role runs.
LATER = ("role_path", "role_name", "ansible_role_name")


class NotKnownYetError(Exception):
    """A value that follows from facts, which are not gathered before the inventory is checked."""


class Inventory:
    """Variables as their hosts will see them, with the roles' defaults below."""

    def __init__(self, task_vars: Mapping[str, Any], defaults: Mapping[str, Any], loader: DataLoader) -> None:
        self._hostvars = task_vars["hostvars"]
        self._defaults = defaults
        self._loader = loader
        self.groups: Mapping[str, list[str]] = task_vars["groups"]
        self.names = list(self.groups["all"])
        # Without a host, what is given with -e and for all hosts is there nevertheless.
        self.set = {name: self._hostvars.raw_get(name) for name in self.names or ["localhost"]}
        self._templars: dict[str, Templar] = {}
        self._is_template: dict[int, bool] = {}

    def value(self, host: str, name: str) -> object:
        """A variable's value, or KeyError, NotKnownYetError, or AnsibleError when its template is wrong."""
        raw = self.set[host][name] if name in self.set[host] else self._defaults[name]
        if not self.follows_from_others(raw):
            return raw
        try:
            return self._templar(host).template(raw)
        except AnsibleUndefinedVariable as error:
            missing = re.fullmatch(r"'(\w+)' is undefined", str(error.message))
            if missing is None or missing[1] in LATER or names.is_private(missing[1]):
                raise NotKnownYetError from error
            raise

    def follows_from_others(self, raw: object) -> bool:
        """Whether it holds a template or is encrypted. Hosts mostly share one object, which is looked at once."""
        if id(raw) not in self._is_template:
            plain = Templar(loader=self._loader)
            self._is_template[id(raw)] = isinstance(raw, EncryptedString) or plain.is_template(raw)
        return self._is_template[id(raw)]

    def is_secret(self, host: str, raw: object, within: int = 5) -> bool:
        """Whether it is encrypted, or made from what is encrypted or has a secret's name, in some steps."""
        if isinstance(raw, EncryptedString):
            return True
        if isinstance(raw, (dict, list)):
            return any(self.is_secret(host, part, within) for part in (raw.values() if isinstance(raw, dict) else raw))
        return within > 0 and any(
            values.names_a_secret(word) or self.is_secret(host, self.set[host].get(word), within - 1)
            for word in _words(raw)
        )

    def words_in_templates(self) -> set[str]:
        """Names that the inventory's own templates mention: whoever sets one of them has it read."""
        words: set[str] = set()
        seen: set[int] = set()
        for variables in self.set.values():
            for name, raw in variables.items():
                if name not in NOT_OPERATORS and id(raw) not in seen:
                    seen.add(id(raw))
                    words.update(_words(raw))
        return words

    def _templar(self, host: str) -> Templar:
        if host not in self._templars:
            variables = ChainMap(self.set[host], {"hostvars": self._hostvars}, dict(self._defaults))
            self._templars[host] = Templar(loader=self._loader, variables=variables)
        return self._templars[host]


def _words(raw: object) -> set[str]:
    if isinstance(raw, dict):
        return set().union(*map(_words, raw.values())) if raw else set()
    if isinstance(raw, (list, tuple)):
        return set().union(*map(_words, raw)) if raw else set()
    return set(re.findall(r"\w+", raw)) if isinstance(raw, str) and ("{{" in raw or "{%" in raw) else set()


class ActionModule(ActionBase):
    """Runs on the machine that Ansible runs on; connects to hosts only to see whether their SSH port answers."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(OPTIONS)
        roles = read_roles(Path(args["roles"]), self._load)
        of_roles = {name: role.options[name] for role in roles for name in role.options}
        self._specs = {**without_null(args["command_line"]), **of_roles}
        self._of_cluster = {name for name in self._specs if name.startswith("cluster_")} | cluster.WITH_DEFAULTS
        self._known = names.Known({role.name: role.options for role in roles}, args["command_line"])
        self._extra = load_extra_vars(self._loader)
        defaults = {name: value for role in roles for name, value in role.defaults.items()}
        self._inventory = Inventory(task_vars or {}, defaults, self._loader)
        self._problems = Problems(self._inventory.names)
        self._meant: dict[str, str | None] = {}
        self._found: dict[tuple[str, int], list[values.Fault]] = {}

        if not self._check_sizes():  # reading on would take hours
            problems = self._problems.lines()
            return {**result, "failed": True, "problems": problems, "msg": "\n".join(problems)}
        self._check_names()
        checked = self._check_values()
        said = f"{checked} variables checked."
        if not args["only_variables"]:
            answers = self._check_cluster(args["leaving"], args["probe"], args["every_host"])
            said = f"{len(self._inventory.names)} hosts and {checked} variables checked; {answers}."
        problems = self._problems.lines()
        said = "\n".join(problems) or said
        return {**result, "changed": False, "failed": bool(problems), "problems": problems, "msg": said}

    def _check_cluster(self, leaving: list[str], to_ask: list[str], every_host: bool) -> str:
        hosts = {name: self._host(name) for name in self._inventory.names}
        groups = {group: set(members) - set(leaving) for group, members in self._inventory.groups.items()}
        cluster.check(cluster.Cluster(hosts, groups), self._problems)
        return self._ask([hosts[name] for name in to_ask if name in hosts and name not in leaving], every_host)

    def _load(self, path: Path) -> dict[str, Any]:
        # Plain data to us; templates in defaults are only followed where an operator's variable leads to them.
        return self._loader.load_from_file(str(path), cache="none", trusted_as_template=True) if path.exists() else {}

    def _check_names(self) -> None:
        mentioned = self._inventory.words_in_templates()
        for host, variables in self._inventory.set.items():
            for name in variables:
                if name in self._known or name in mentioned:
                    continue
                private = names.is_private(name)
                if not private and (name in self._extra or self._known.role_of(name)):
                    self._problems.add(*self._known.explain(name), self._place(host, name))
                    continue
                if name not in self._meant:
                    self._meant[name] = names.meant_by(name) if private else self._known.meant_by(name)
                if self._meant[name]:
                    what = f"{name} is not a variable that {'Ansible' if private else 'a role'} knows"
                    self._problems.add(what, f"did you mean {self._meant[name]}?", self._place(host, name))

    def _check_sizes(self) -> bool:
        """Whether every variable can be read in a short time."""
        sizes, all_can_be_read = size.Sizes(), True
        for host, variables in self._inventory.set.items():
            for name, raw in variables.items():
                if name not in NOT_OPERATORS and sizes.is_too_large(raw):
                    fix = "make it smaller; an alias of YAML (*name) counts as often as it is used."
                    what = f"{name} has more than {size.MOST_PARTS:,} parts"
                    self._problems.add(what, fix, self._place(host, name))
                    all_can_be_read = False
        return all_can_be_read

    def _check_values(self) -> int:
        """Returns the number of variables that someone has set."""
        checked = set()
        for host, variables in self._inventory.set.items():
            for name in self._specs.keys() & variables.keys():
                checked.add(name)
                for fault in self._faults(host, name):
                    self._problems.add(fault.what, fault.fix, self._place(host, name))
        return len(checked)

    def _faults(self, host: str, name: str) -> list[values.Fault]:
        raw = self._inventory.set[host][name]
        shared = (name, id(raw))  # most hosts have a variable's one value from their group
        if shared in self._found:
            return self._found[shared]
        try:
            value = self._inventory.value(host, name)
        except NotKnownYetError:
            return []
        except AnsibleError as error:
            reason = str(error.message).splitlines()[0]
            return [values.Fault(f"{name} cannot be worked out", f"{reason.rstrip('.')}.")]
        spec = {**self._specs[name], "no_log": True} if self._inventory.is_secret(host, raw) else self._specs[name]
        faults = list(values.faults(name, spec, value, self._inventory.names, self._inventory.groups))
        if not self._inventory.follows_from_others(raw):
            self._found[shared] = faults
        return faults

    def _place(self, host: str, name: str) -> str:
        return COMMAND_LINE if name in self._extra else host

    def _host(self, name: str) -> cluster.Host:
        said = self._said(name, ("ansible_host", "ansible_port", "ansible_connection"))
        given = self._inventory.set[name].keys()
        looked_at = self._of_cluster | cluster.OF_ROLES & given
        secret = {
            known for known in looked_at & given if self._inventory.is_secret(name, self._inventory.set[name][known])
        }
        wrong = {known for known in looked_at & given - secret if self._faults(name, known)}
        return cluster.Host(
            name=name,
            address=str(said["ansible_host"]) if "ansible_host" in said else None,
            port=str(said.get("ansible_port", 22)),
            by_ssh=said.get("ansible_connection", context.CLIARGS.get("connection")) in SSH_CONNECTIONS,
            variables=self._said(name, looked_at - secret - wrong),
        )

    def _said(self, host: str, variables: Iterable[str]) -> dict[str, Any]:
        """Those of the variables that have a value now; what is wrong with others is said elsewhere."""
        said = {}
        for name in variables:
            with contextlib.suppress(KeyError, NotKnownYetError, AnsibleError):
                said[name] = self._inventory.value(host, name)
        return said

    def _ask(self, hosts: list[cluster.Host], every_host: bool) -> str:
        """Returns what came of it, in words."""
        targets = {
            host.name: probe.Target(str(host.address), int(host.port), self._ssh_arguments(host.name))
            for host in hosts
            if host.by_ssh and host.has_place()
        }
        answers = probe.ask(targets)
        for what, names_of_silent in answers.silent.items():
            without = "" if len(names_of_silent) == len(hosts) > 1 else _without(names_of_silent, every_host)
            self._problems.add(f"SSH {what}", f"start it or correct its address{without}.", *names_of_silent)
        left_out = len(hosts) - answers.asked
        said = f"SSH answers on {answers.asked}" if hosts else "SSH was not asked"
        return f"{said}, {left_out} reached by other ways were not asked" if left_out else said

    def _ssh_arguments(self, host: str) -> str:
        said = [*self._said(host, SSH_ARGUMENTS).values(), *(context.CLIARGS.get(name) for name in SSH_OPTIONS)]
        return " ".join(str(text) for text in said if text)


def _without(hosts: list[str], every_host: bool) -> str:
    """How to go on without hosts that do not answer; of a playbook that needs every host, how they leave first."""
    if every_host:
        return f", or take it out of the cluster first (playbooks/remove_nodes.yml -e nodes={','.join(hosts)})"
    return f", or leave it out with --limit 'all:!{':!'.join(hosts)}'"

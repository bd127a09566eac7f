"""Makes playbooks faster: keeps what the running one has seen and changed on its hosts, and loads plugins once."""

from __future__ import annotations

DOCUMENTATION = """
name: this_run
type: aggregate
short_description: What the running playbook has seen and changed on its hosts
description:
  - Learns from C(host_facts) which tasks of earlier runs have left nothing to do on a host, and forgets it for a host
    on which something is changed. The actions C(host_files), C(deb_packages) and C(running_service) ask it.
  - Loads plugins before Ansible forks a process for every task and host, each of which would load them again.
  - Without this callback playbooks take longer and come to the same.
requirements:
  - named in callbacks_enabled
"""

import sys
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import (
    action_loader,
    become_loader,
    connection_loader,
    filter_loader,
    lookup_loader,
    test_loader,
)

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import this_run

PLUGINS = (
    (connection_loader, ("ssh", "local")),
    (become_loader, ("sudo",)),
    (lookup_loader, ("template",)),
    (action_loader, ("assert", "fail", "normal", "set_fact", "host_files", "deb_packages", "running_service")),
)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "this_run"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Any) -> None:
        for plugins in (filter_loader, test_loader):
            list(plugins.all())
        for loader, names in PLUGINS:
            for name in names:
                loader.get(name, class_only=True)

    def v2_runner_on_ok(self, result: Any) -> None:
        if result.result.get("changed"):
            _touch(result)
        elif "settled" in result.result:
            this_run.looked_at(_host(result), result.result["settled"])
        if "packages_present" in result.result:
            this_run.installed(_host(result), result.result["packages_present"])

    def v2_runner_item_on_ok(self, result: Any) -> None:
        if result.result.get("changed"):
            _touch(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        _touch(result)

    v2_runner_item_on_failed = v2_runner_on_failed
    v2_runner_on_unreachable = v2_runner_on_failed


def _host(result: Any) -> str:
    delegated = result.result.get("_ansible_delegated_vars") or {}
    return str(delegated.get("ansible_delegated_host") or result.host.get_name())


def _touch(result: Any) -> None:
    this_run.touched(_host(result))
    this_run.touched(result.host.get_name())

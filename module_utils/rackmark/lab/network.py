"""The private bridge of a virtual cluster and its way out to the machine's own network."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

from .host import run
from .spec import LabSpec


def is_up(spec: LabSpec) -> bool:
    return _bridge_is_up(spec) and _has_table(spec) and not _closed_chains(spec)


def bring_up(spec: LabSpec) -> None:
    if not _bridge_is_up(spec):
        if not _bridge_exists(spec):
            run("ip", "link", "add", "name", spec.bridge, "type", "bridge")
        run("ip", "address", "replace", f"{spec.gateway}/{spec.network.prefixlen}", "dev", spec.bridge)
        run("ip", "link", "set", spec.bridge, "up")
    if not _has_table(spec):
        _masquerade(spec)
    for chain in _closed_chains(spec):
        for direction in ("iifname", "oifname"):
            run("nft", "insert", "rule", *chain, direction, spec.bridge, "accept", "comment", spec.nft_table)


def take_down(spec: LabSpec) -> None:
    if _has_table(spec):
        run("nft", "delete", "table", "ip", spec.nft_table)
    _remove_firewall_passes(spec)
    if _bridge_exists(spec):
        run("ip", "link", "delete", spec.bridge)


def pull_cable(machine: str) -> None:
    """A killed node's end of its cable goes with its network namespace some moments later: do not wait for that."""
    _ask("ip", "link", "delete", f"vb-{machine}")


def _bridge_exists(spec: LabSpec) -> bool:
    return _ask("ip", "link", "show", spec.bridge) is not None


def _bridge_is_up(spec: LabSpec) -> bool:
    shown = _ask("ip", "-j", "address", "show", spec.bridge)
    if shown is None:
        return False
    (link,) = json.loads(shown)
    return "UP" in link["flags"] and any(address["local"] == spec.gateway for address in link["addr_info"])


def _has_table(spec: LabSpec) -> bool:
    return _ask("nft", "list", "table", "ip", spec.nft_table) is not None


def _masquerade(spec: LabSpec) -> None:
    rule = f'ip saddr {spec.subnet} oifname != "{spec.bridge}" masquerade'
    chain = f"chain postrouting {{\n type nat hook postrouting priority srcnat;\n {rule}\n }}"
    run("nft", "-f", "-", stdin=f"table ip {spec.nft_table} {{\n {chain}\n}}\n")


def _closed_chains(spec: LabSpec) -> list[tuple[str, str, str]]:
    """Firewall chains that drop forwarded packets by default (as Docker sets it) and still close the bridge."""
    ruleset = _nft()
    dropping = [
        (entry["chain"]["family"], entry["chain"]["table"], entry["chain"]["name"])
        for entry in ruleset
        if "chain" in entry and entry["chain"].get("hook") == "forward" and entry["chain"].get("policy") == "drop"
    ]
    opened = {(rule["family"], rule["table"], rule["chain"]) for rule in _own_rules(spec, ruleset)}
    return [chain for chain in dropping if chain not in opened]


def _remove_firewall_passes(spec: LabSpec) -> None:
    for rule in _own_rules(spec, _nft()):
        run("nft", "delete", "rule", rule["family"], rule["table"], rule["chain"], "handle", str(rule["handle"]))


def _own_rules(spec: LabSpec, ruleset: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry["rule"] for entry in ruleset if entry.get("rule", {}).get("comment") == spec.nft_table]


def _nft() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(_ask("nft", "-j", "list", "ruleset") or '{"nftables": []}')["nftables"]
    return entries


def _ask(*command: str) -> str | None:
    """Output of a command, or None where the answer is no. A tool that is not installed has made nothing either."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None

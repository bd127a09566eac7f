"""Kinds of values that options have, each with the words that say what to use instead of a wrong one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable

from .. import firewall, munge, password_rules
from ..credentials import has_credentials
from . import addresses, asked, paths


@dataclass(frozen=True)
class Kind:
    words: str
    """Completes "use ..."."""
    accepts: Callable[[str], bool]


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _rule(rule: password_rules.Rule) -> Kind:
    return Kind(rule.words, rule.accepts)


def is_one_line(text: str) -> bool:
    return text.isprintable() or text.replace("\t", " ").isprintable()


def _is_memory(text: str) -> bool:
    """As systemd writes it; 128 MB at least, since a service with less never starts."""
    found = re.fullmatch(r"(\d{1,6})(%|[KMGT]?)", text)
    if not found:
        return False
    if found[2] == "%":
        return 1 <= int(found[1]) <= 100
    return int(found[1]) * 1024.0 ** " KMGT".index(found[2] or " ") >= 128 * 1024**2


def _is_size(text: str) -> bool:
    """Prometheus counts bytes in 64 bits."""
    found = re.fullmatch(r"([0-9]{1,15})([KMGTPE]?)B", text)
    return found is not None and 0 < int(found[1]) * 1024 ** " KMGTPE".index(found[2] or " ") < 2**63


def _is_duration(text: str) -> bool:
    """Prometheus keeps nanoseconds in 64 bits."""
    found = _DURATION.fullmatch(text)
    if not found or not text:
        return False
    return 0 < sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(text)) < 290 * _SECONDS["y"]


def _is_key(text: str) -> bool:
    return text.startswith("-----BEGIN PGP PUBLIC KEY") or paths.is_file_here(text)


def _is_expression(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return re.fullmatch(r"""[^\s"'\\]+""", text) is not None


def _flag(*own: str) -> Kind:
    """Of a program that takes no flag twice."""
    words = "a flag without spaces, quotes and backslashes, as in --log.level=debug"
    others = f", other than {', '.join(f'--{name}' for name in own)}, which other options set"
    names = "|".join(map(re.escape, own))
    return Kind(words + others, _matches(rf"""--(?!(?:{names})(?:=|$))[a-z][\w.-]*(=[^\s"'\\]*)?"""))


_SECONDS = {"y": 31536000, "w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
_DURATION = re.compile("".join(rf"([0-9]{{1,9}}{unit})?" for unit in _SECONDS))
_PART = re.compile(r"([0-9]+)(ms|[ywdhms])")
_MORE_THAN_0 = r"(?=.*[1-9])"
# Users and groups that the system or the services of a cluster have already.
_TAKEN = (
    "root|daemon|bin|sys|sync|games|man|lp|mail|news|uucp|proxy|www-data|backup|list|irc|gnats|nobody|_.*|systemd-.*"
    "|messagebus|sshd|munge|slurm|mysql|prometheus|grafana|rackmark-exporter|statd|dnsmasq|HwHiAiUser|postgres|redis"
    "|ntp|ntpsec|tss|polkitd|adm|tty|disk|dialout|fax|voice|cdrom|floppy|tape|sudo|audio|dip|operator|src|shadow|utmp"
    "|video|sasl|plugdev|staff|users|nogroup|input|kvm|render|sgx|crontab|netdev|ssh|docker"
)

KINDS = {
    "any": Kind("anything", lambda text: True),
    "host": Kind("a host of the inventory", lambda text: bool(text)),  # which these are is said elsewhere
    # Text that ends up in a line of a file.
    "one_line": Kind("one line of text", lambda text: bool(text) and is_one_line(text)),
    "word": Kind("one word without quotes and commas", _matches(r"""[^\s"'\\,]+""")),
    "expression": Kind("a regular expression without spaces, quotes and backslashes", _is_expression),
    "prometheus_flag": _flag(
        "config.file",
        "storage.tsdb.path",
        "storage.tsdb.retention.time",
        "storage.tsdb.retention.size",
        "web.listen-address",
        "web.config.file",
    ),
    "alertmanager_flag": _flag(
        "config.file", "storage.path", "web.listen-address", "cluster.listen-address", "web.config.file"
    ),
    "node_exporter_flag": _flag(
        "web.listen-address",
        "web.config.file",
        "collector.textfile.directory",
        "collector.systemd",
        "collector.systemd.unit-include",
    ),
    "mail_addresses": Kind(
        "an address with @, or several with commas between them",
        _matches(r"""[^@<>,\n"]*<?[^\s@<>,"]+@[^\s@<>,"]+>?( *, *[^@<>,\n"]*<?[^\s@<>,"]+@[^\s@<>,"]+>?)*"""),
    ),
    "image": Kind(
        "the name of an image, as in registry:5000/name:tag, with small letters before the tag",
        _matches(
            r"([A-Za-z0-9.-]+(:[0-9]{1,5})?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][\w.-]{0,127})?"
            r"(@sha256:[0-9a-f]{64})?"
        ),
    ),
    "sbatch_option": Kind(
        "an option of sbatch from its - on, other than name, nodes, tasks, time and output, which a run sets itself",
        _matches(
            r"(?!--(job-name|nodes|ntasks|ntasks-per-node|output|error|time|array|wrap|requeue|parsable)\b|-[JNnoea])-[^\n]+"
        ),
    ),
    "mount_option": Kind(
        "an option of mount.nfs, as in hard or vers=4.2",
        _matches(
            r"(nfs)?vers=(3|4(\.[012])?)|(timeo|retrans|retry|[rw]size|port|nconnect|actimeo|ac(reg|dir)(min|max))=[0-9]+"
            r"|(?!(nfs)?vers|timeo|retrans|retry|[rw]size|port|nconnect|ac)[a-z][a-z0-9_]*(=[\w.:/@-]+)?|ac"
        ),
    ),
    "apt_source": Kind(
        "a line of sources.list: deb or deb-src, a URL, a suite and its components",
        _matches(r"deb(-src)? +(\[[^\]\n]*\] +)?[a-z][a-z+]*:/[^\s]+( +[^\s/]+( +[^\s]+)+| +[^\s]*/) *"),
    ),
    # Names.
    "cluster_name": Kind(
        "small letters, digits, - and _, as Slurm does in its accounting", _matches(r"[a-z0-9][a-z0-9_-]{0,62}")
    ),
    "partition": Kind(
        "a name of letters, digits, -, _ and dots, other than all and default",
        _matches(r"(?i)(?!(all|default)$)[a-z0-9][a-z0-9._-]{0,62}"),
    ),
    "partitions": Kind(
        "a partition, or several with commas between them", _matches(r"[A-Za-z0-9][\w.-]*(,[A-Za-z0-9][\w.-]*)*")
    ),
    "account": Kind("one name of letters, digits, - _ . and @", _matches(r"[A-Za-z0-9_][\w.@-]*")),
    "features": Kind("features of nodes, as in a100&nvme", _matches(r"[\w.&|,*()\[\]!:+-]+")),
    "host_name": Kind("the name or the address of a host", _matches(r"[A-Za-z0-9][\w.:-]*")),
    "lab_name": Kind("up to 10 small letters and digits, a letter first", _matches(r"[a-z][a-z0-9]{0,9}")),
    "workload": Kind(
        "the name of a folder in workloads/, or the absolute path of another one",
        lambda text: re.fullmatch(r"[a-z0-9][\w-]*", text, re.ASCII) is not None or paths.is_absolute(text),
    ),
    "folder_name": Kind(
        "a name of letters, digits, . _ + and -, which does not begin with a dot", _matches(r"[A-Za-z0-9_][\w.+-]*")
    ),
    "run": Kind("the name of a run, as in 20261118-101500-resnet50", _matches(r"[A-Za-z0-9_][\w.-]*")),
    "runs": Kind("names of runs with commas between them", _matches(r"[A-Za-z0-9_][\w.-]*(,[A-Za-z0-9_][\w.-]*)*")),
    "user": Kind(
        "the name of an unprivileged user that no service has, in small letters, as in rackmark",
        _matches(rf"(?!(?:{_TAKEN})$)[a-z_][a-z0-9_-]{{0,31}}"),
    ),
    "login": Kind("the name of a user", _matches(r"[A-Za-z_][A-Za-z0-9._@-]{0,63}")),
    "package": Kind(
        "the name of a package, or name=version", _matches(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+~:-]+)?")
    ),
    "version": Kind("a version, as in 1.17.8-1", _matches(r"[0-9][A-Za-z0-9.+~:_-]*")),
    "sha256": Kind("the 64 hexadecimal digits that sha256sum prints", _matches(r"[0-9A-Fa-f]{64}")),
    # Addresses.
    "port": Kind("a port from 1024 to 65535", lambda text: addresses.is_port(text, 1024)),
    "any_port": Kind("a port from 1 to 65535", addresses.is_port),
    "address": Kind("an IPv4 address of the host, or 0.0.0.0 for all that it has", addresses.is_listening_address),
    "ipv4": Kind("an IPv4 address", addresses.is_ipv4),
    "network": Kind("an address or a network other than all addresses, as in 192.0.2.0/24", addresses.is_some_network),
    "lab_network": Kind("an IPv4 network of /24 or larger, as in 10.77.0.0/24", addresses.is_large_network),
    "port_range": Kind("a port, or a range of ports as in 8000-8010", firewall.is_port_range),
    "interface": Kind(
        "an IPv4 address of a host with the length of its network, as in 192.168.100.101/24", addresses.is_interface
    ),
    "host_and_port": Kind("a host and its port, as in mail.example.org:587", addresses.is_host_and_port),
    "url": Kind("a URL that begins with http:// or https://", lambda text: addresses.is_url(text, "https?://")),
    "open_url": Kind(
        "a URL that begins with http:// or https:// and has no user and password",
        lambda text: addresses.is_url(text, "https?://") and not has_credentials(text),
    ),
    "repository_url": Kind(
        "a URL that begins with http://, https:// or file:///",
        lambda text: addresses.is_url(text, "https?://|file:///"),
    ),
    "file_url": Kind(
        "a URL that begins with http://, https:// or file:/// and has no user and password",
        lambda text: addresses.is_url(text, "https?://|file:///") and not has_credentials(text),
    ),
    "nodes": Kind("a number of nodes from 1, or hosts as in node[3-5]", asked.is_nodes),
    "cases": Kind(
        "cases as in 1n1g,4n8g, or FlagPerf's model:framework:hardware:nodes:devices:repeats", asked.is_cases
    ),
    "devices": Kind(
        "numbers of devices, as in 0-3 or 0,2", _matches(r"[0-9]{1,3}(-[0-9]{1,3})?(,[0-9]{1,3}(-[0-9]{1,3})?)*")
    ),
    "hours": Kind("a number of hours above 0, as in 12 or 0.5", asked.is_hours),
    "target": Kind("accuracy >= <number> or loss <= <number>", asked.is_target),
    "tolerance": Kind("a percentage from 0% to 99%, as in 3%", asked.is_tolerance),
    "truth": Kind("true or false", lambda text: text.lower() in ("true", "false")),
    "batch": Kind(
        "a whole number of nodes, at least 1, or a share of them from 1% to 100%",
        _matches(r"[1-9][0-9]{0,5}|([1-9][0-9]?|100)%"),
    ),
    "seconds": Kind("a number of seconds, 0 or more", _matches(r"[0-9]{1,9}")),
    # Sizes and times in the words of the product that reads them.
    "duration": Kind("a time as Prometheus writes it, as in 90d or 1y", _is_duration),
    "size": Kind("a size as Prometheus writes it, as in 500MB or 20GB", _is_size),
    "memory": Kind("a size as systemd writes it, 128M or more, as in 4G or 50%", _is_memory),
    "docker_size": Kind("a size as Docker writes it, as in 50m or 32g", _matches(_MORE_THAN_0 + r"[0-9]+[bkmgBKMG]?")),
    # Paths.
    "absolute_path": Kind(paths.ABSOLUTE, paths.is_absolute),
    "shared_folder": Kind(paths.SHARED_FOLDER, paths.is_shared_folder),
    "own_folder": Kind(paths.OWN_FOLDER, paths.is_own_folder),
    "program": Kind("the path or the name of a program, without spaces", _matches(r"~?[\w.+@/-]+")),
    "data_folder": Kind(paths.DATA_FOLDER, paths.is_data_folder),
    "file_here": Kind("the path of a file on the control machine", paths.is_file_here),
    "key": Kind(
        "an ASCII-armoured key (-----BEGIN ...), or the path of a file with one on the control machine", _is_key
    ),
    # Secrets.
    "munge_key": Kind(munge.RULE, munge.is_key),
    "monitoring_password": _rule(password_rules.MONITORING),
    "slurmdbd_password": _rule(password_rules.SLURMDBD),
    "grafana_password": _rule(password_rules.GRAFANA),
}

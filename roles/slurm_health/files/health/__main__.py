"""Whether this node can take jobs, asked of the node itself.

Slurm runs it every few minutes and before every job. A node with a fault is drained with all its faults as the reason;
one that was drained here and has none any more takes jobs again. What a person or Slurm has drained is left alone,
whatever words they gave for it. Nothing that one user can do to his own folder is a fault of the node.
"""

from __future__ import annotations

import argparse
import configparser
import os
import sys
import syslog
from pathlib import Path

from findings import Finding, reason_of, run_checks
from metrics import metrics_of, publish
from slurm import tell_slurm

CONFIG = Path("/etc/slurm/rackmark-health.conf")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def show(findings: dict[str, Finding]) -> None:
    width = max(8, *(len(name) + 1 for name in findings))
    for name, finding in findings.items():
        outcome = "; ".join(finding.faults) or (f"not known: {finding.unknown}" if finding.unknown else "ok")
        print(f"{name:{width}}{outcome}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Check this node; drain it when it has a fault, resume it when not.")
    parser.add_argument("--show", action="store_true", help="only say what is found and change nothing")
    parser.add_argument("--prolog", action="store_true", help="before a job: a fault is status 1, nothing is resumed")
    parser.add_argument("--config", type=Path, default=CONFIG)
    arguments = parser.parse_args()
    os.environ["PATH"] = ":".join(filter(None, [os.environ.get("PATH"), SYSTEM_PATH]))
    syslog.openlog("rackmark-health")

    config = configparser.ConfigParser(interpolation=None)
    with arguments.config.open() as file:
        config.read_file(file)
    config["DEFAULT"] = dict(config["node"])
    findings = run_checks(config)
    reason = reason_of(findings)
    if arguments.show:
        show(findings)
        return 1 if reason else 0
    if "metrics" in config["node"]:
        publish(Path(config["node"]["metrics"]), metrics_of(findings))
    if arguments.prolog and not reason:
        return 0
    told = tell_slurm(config["node"], reason, resume=config.getboolean("node", "resume") and not arguments.prolog)
    return 0 if told and not arguments.prolog else 1


if __name__ == "__main__":
    sys.exit(main())

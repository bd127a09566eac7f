#!/usr/bin/python
"""Ansible module: who is known to Slurm's accounting."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_accounting
short_description: Register a cluster, accounts and users with slurmdbd
description:
  - Waits until slurmdbd on this host answers, and adds what is missing. Nothing is removed. In check mode a slurmdbd
    that does not answer is taken for one that is not there yet.
  - Asks slurmdbd itself, so that it works before there is a slurm.conf and while slurmctld is down.
options:
  cluster:
    description: Name of the cluster, as in slurm.conf.
    type: str
    required: true
  accounts:
    description: Users by account.
    type: dict
    default: {}
  operators:
    description: >-
      Users of the account root who see everybody's jobs and may change them, whatever C(PrivateData) hides.
    type: list
    elements: str
    default: []
  timeout:
    description: >-
      Seconds that a slurmdbd which is alive may take. After an upgrade it first converts its database. One that has
      ended is not waited for.
    type: int
    default: 900
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Register the cluster and the benchmark user
  slurm_accounting:
    cluster: rackmark
    accounts:
      benchmark: [rackmark]
    operators: [rackmark-exporter]
"""

RETURN = r"""
added:
  description: What sacctmgr was told to add or modify.
  type: list
  elements: str
  returned: always
  sample: [add cluster rackmark, add account benchmark cluster=rackmark]
"""

import shutil
import tempfile
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import service_wait
from ansible.module_utils.rackmark.slurm_accounting import parse_associations, parse_operators, wanted_associations

# A slurmdbd that listens and does not do as asked may still be at its beginning, or be of another mind.
REFUSED_SECONDS = 60
# Just enough for sacctmgr to find slurmdbd.
CONFIG = """\
ClusterName={cluster}
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=slurm
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
"""


class Sacctmgr:
    def __init__(self, module: AnsibleModule, config: Path) -> None:
        self.module = module
        self.environment = {"SLURM_CONF": str(config)}

    def run(self, *words: str) -> tuple[int, str, str]:
        return self.module.run_command(["sacctmgr", *words], environ_update=self.environment)

    def associations(self, cluster: str, timeout: int) -> str:
        """What slurmdbd knows of the cluster, as soon as it answers."""
        question = ["show", "associations", f"cluster={cluster.lower()}", "format=cluster,account,user"]
        slurmdbd = service_wait.Service("slurmdbd", self.module.run_command)
        answer, heard = "", 0.0

        def fault() -> str | None:
            nonlocal answer, heard
            status, answer, errors = self.run("--noheader", "--parsable2", *question)
            if status == 0:
                return None
            said = (errors or answer).strip() or f"sacctmgr ended with {status}"
            heard = heard or (time.monotonic() if slurmdbd.listens() else 0.0)
            if heard and time.monotonic() - heard > REFUSED_SECONDS:
                raise ValueError(f"slurmdbd answers and refuses: {said}. {slurmdbd.last_words()}")
            return said

        wrong = service_wait.wait(slurmdbd, fault, timeout)
        if wrong:
            raise TimeoutError(f"slurmdbd {wrong}")
        return answer

    def operators(self) -> set[str]:
        status, output, errors = self.run("--noheader", "--parsable2", "show", "users", "format=user,adminlevel")
        if status != 0:
            raise ValueError(f"'sacctmgr show users' failed: {(errors or output).strip()}")
        return parse_operators(output)

    def tell(self, words: list[str]) -> None:
        status, output, errors = self.run("--immediate", *words)
        if status != 0:
            raise ValueError(f"'sacctmgr {' '.join(words)}' failed: {(errors or output).strip()}")


def known(sacctmgr: Sacctmgr, module: AnsibleModule) -> str:
    cluster = module.params["cluster"]
    if not module.check_mode:
        return sacctmgr.associations(cluster, module.params["timeout"])
    try:
        return sacctmgr.associations(cluster, 0) if shutil.which("sacctmgr") else ""
    except TimeoutError:
        return ""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "accounts": {"type": "dict", "default": {}},
            "operators": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 900},
        },
        supports_check_mode=True,
    )
    cluster, accounts, operators = (module.params[name] for name in ("cluster", "accounts", "operators"))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        config.write(CONFIG.format(cluster=cluster))
        config.flush()
        sacctmgr = Sacctmgr(module, Path(config.name))
        try:
            present = parse_associations(known(sacctmgr, module))
            wanted = wanted_associations(cluster, accounts, operators)
            missing = [["add", *association.words] for association in wanted if association not in present]
            have_level = sacctmgr.operators() if operators and present else set()
            levels = [name for name in operators if name not in have_level]
            missing += [["modify", "user", name, "set", "adminlevel=operator"] for name in levels]
            for words in missing if not module.check_mode else []:
                sacctmgr.tell(words)
        except (OSError, ValueError) as error:
            module.fail_json(msg=str(error))
    module.exit_json(changed=bool(missing), added=[" ".join(words) for words in missing])


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: what a run in ModelArts is told."""

from __future__ import annotations

DOCUMENTATION = r"""
module: modelarts_settings
short_description: Check what a run in ModelArts is told, from variables and from ais-bench's file
description:
  - Fails with one sentence where something is missing or cannot be. Asks no service and reads no key.
options:
  workload:
    description: Folder of the workload. One that does not leave ais-bench's files brings its own code.
    type: path
    required: true
  cases:
    description: What the operator asks for, empty where that is nothing.
    type: str
    default: ''
  begun:
    description: Folder of a run that was begun, of which other values are refused. Nothing else is looked at then.
    type: path
  region: &text
    description: As the variable of the role modelarts, and so are all that follow.
    type: str
    default: ''
  project_id: *text
  endpoint: *text
  obs_endpoint: *text
  ca_file: *text
  obs_signature: *text
  obs_path_style: *text
  bucket: *text
  code: *text
  boot: *text
  data: *text
  engine: *text
  engine_version: *text
  image: *text
  flavors: &mapping
    description: As the variable of the role modelarts.
    type: dict
    default: {}
  pool_id: *text
  parameters: *mapping
  environments: *mapping
  single_server: &switch
    description: As the variable of the role modelarts.
    type: bool
    default: false
  keep_code: *switch
  config: *text
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Check the settings for ModelArts
  modelarts_settings:
    workload: workloads/modelarts
    cases: 1n8g,2n8g
    region: cn-north-4
    project_id: 0123456789abcdef0123456789abcdef
    bucket: bench
    code: ./code
    boot: train.py
    engine: Ascend-Powered-Engine
    engine_version: mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64
"""

RETURN = r"""
options:
  description: What the queue is told; no key is among it.
  type: dict
  returned: success
settings:
  description: Of it, what the workload's preset has settings for.
  type: dict
  returned: success
cases:
  description: The cases that ais-bench's file asks for, where the operator asks for none.
  type: str
  returned: success
baseline:
  description: The smallest case, where there are several, none has one device, and servers train together.
  type: str
  returned: success
data:
  description: Folder of the data in the object store.
  type: str
  returned: success
"""

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.modelarts.errors import SettingsError
from ansible.module_utils.rackmark.modelarts.own_code import BOOT
from ansible.module_utils.rackmark.modelarts.request import check_size
from ansible.module_utils.rackmark.modelarts.settings import Read, read_settings, refuse_others
from ansible.module_utils.rackmark.run.cases import CaseRequest
from ansible.module_utils.rackmark.run.workload_folder import load

TEXTS = (
    *(
        "region",
        "project_id",
        "endpoint",
        "obs_endpoint",
        "ca_file",
        "obs_signature",
        "obs_path_style",
        "bucket",
        "code",
    ),
    *("boot", "data", "engine", "engine_version", "image", "pool_id", "config"),
)


def settings_of_preset(read: Read) -> dict[str, Any]:
    """What a report says of the training."""
    told = read.settings
    engine = told.image or f"{told.engine} {told.engine_version}"
    return {"boot": told.boot, "engine": engine, "single_server": told.single_server}


def baseline_of(cases: str) -> str:
    """The smallest of several cases, where none has one device."""
    if not cases or any(text.strip().isdecimal() for text in cases.split(",")):
        return ""
    found = sorted(
        (CaseRequest.parse(text.strip()).case for text in cases.split(",")), key=lambda case: case.world_size
    )
    return found[0].name if len(found) > 1 and found[0].world_size > 1 else ""


def check_cases(read: Read, cases: str) -> None:
    """A number of nodes is not looked at: the plan makes cases of it."""
    if not cases:
        raise SettingsError("There is no case to train: say which, as in -e cases=1n8g. Every one of them costs money.")
    for text in cases.split(","):
        if not text.strip().isdecimal():
            case = CaseRequest.parse(text.strip()).case
            check_size(read.settings, case.nodes, case.devices_per_node)


def go_on(module: AnsibleModule, given: dict[str, Any], begun: Path) -> None:
    """What is wrong with the name of the run is said by who looks for it."""
    try:
        refuse_others(given, json.loads((begun / "manifest.json").read_text())["options"], begun.name)
    except SettingsError as error:
        module.fail_json(msg=str(error))
    except (OSError, ValueError, KeyError):
        pass
    module.exit_json(changed=False, options={}, settings={}, cases="", baseline="", data="")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workload": {"type": "path", "required": True},
            "cases": {"type": "str", "default": ""},
            "begun": {"type": "path"},
            **{name: {"type": "str", "default": ""} for name in TEXTS},
            **{name: {"type": "dict", "default": {}} for name in ("flavors", "parameters", "environments")},
            **{name: {"type": "bool", "default": False} for name in ("single_server", "keep_code")},
        },
        supports_check_mode=True,
    )
    params = dict(module.params)
    workload, cases, begun = Path(params.pop("workload")), params.pop("cases"), params.pop("begun")
    if begun is not None:
        go_on(module, params, Path(begun))
    try:
        our_code = load(workload).get("result") != "ais-bench"
        read = read_settings(params, our_code)
        check_cases(read, cases or read.cases)
    except (ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    for warning in read.warnings:
        module.warn(warning)
    options = read.settings.data_for_json()
    if our_code:
        options["boot"] = BOOT
    module.exit_json(
        changed=False,
        options=options,
        settings={} if our_code else settings_of_preset(read),
        cases="" if cases else read.cases,
        baseline="" if read.settings.single_server else baseline_of(cases or read.cases),
        data=options["data"],
    )


if __name__ == "__main__":
    main()

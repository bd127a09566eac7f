#!/usr/bin/python
"""Documentation of the action benchmark_analyze, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_analyze
short_description: Read training logs of other tools
description:
  - Recognises in which dialect each log of a folder is written, sorts the logs into series (same dialect, model, batch
    and precision), cases and repeats by their paths and lines, and gives every repeat a state.
  - An experiment of AIPerf, and what the ranks of ais-bench leave, is a folder that is read as one repeat. The logs of
    power meters add the energy to the training whose folder or name they share.
  - Writes for every series C(summary.json), C(summary.csv), C(manifest.json), C(metrics.prom), C(dlperf_result.json),
    C(junit.xml), C(report.html), C(report.md) and its pictures into a folder of its own.
  - Does not fail when repeats are not ok, which is what RV(state) says. It fails when no log is in a known dialect.
  - Runs on the machine that Ansible runs on, in its Python, which has NumPy, Jinja2 and Matplotlib.
options:
  logs:
    description: Folder that holds the logs, or one log. Links in it are passed over.
    type: path
    required: true
  dialect:
    description: Name of the dialect of all logs, or V(auto) to recognise it by their lines.
    type: str
    default: auto
  warmup:
    description: Steps at the begin that are left out. Without it those that DLPerf leaves out in the dialect.
    type: int
  train:
    description: The last step that is measured. Without it the last one in the log.
    type: int
  batch:
    description: Samples per device and step, where neither paths nor lines say it.
    type: int
  case:
    description: Case of all logs, such as V(2n8g), where neither paths nor lines say it.
    type: str
  baseline:
    description: Case that speedup compares with. Without it the one with one device.
    type: str
  precision:
    description: Number format, such as V(fp16), where neither paths nor lines say it.
    type: str
  profile:
    description:
      - V(dlperf) measures over the steps that DLPerf measures, and rounds as it does.
      - V(aah), V(aiperf-1.0), V(aiperf) and V(lab) are the rules for experiments of AIPerf; without one of them the one
        that the experiment names is, or V(aiperf).
      - V(rackmark) measures what the logs hold.
    type: str
    default: rackmark
  dest:
    description: Folder in which a folder is made for every series.
    type: path
    required: true
  templates:
    description: Folder that holds C(report.html.j2) and C(report.md.j2).
    type: path
    required: true
attributes:
  action:
    support: full
    description: It is all of it, so that nothing has to be packed for a host and unpacked there.
  check_mode:
    support: full
    description: Everything is computed and returned, nothing is written.
author:
  - Rackmark
"""

EXAMPLES = r"""
- name: Read the logs of a DLPerf run with its own window and rounding
  benchmark_analyze:
    logs: /data/logs_fp32/mindspore/resnet50/bz128
    warmup: 100
    train: 200
    profile: dlperf
    dest: "{{ playbook_dir }}/../reports/analyses"
    templates: "{{ playbook_dir }}/../reports/templates"
"""

RETURN = r"""
analyses:
  description:
    - One entry per series, with its name, dialect, the line it was recognised by, state, table, problems, the path of
      its report and its summary.
  type: list
  elements: dict
  returned: success
lines:
  description: All tables and problems for a terminal, one entry per line.
  type: list
  elements: str
  returned: success
state:
  description: V(ok) if every repeat of every series is ok, V(failed) if none is, else V(partial).
  type: str
  returned: success
files:
  description: The files that were written because they were missing or differed.
  type: list
  elements: str
  returned: success
"""

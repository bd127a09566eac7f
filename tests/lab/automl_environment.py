"""The Python that searches for networks run in."""

from __future__ import annotations

from lab.trainings import ROOT, environment

AUTOML = ROOT / "workloads/automl"


def automl_environment():
    return environment(AUTOML)

"""What is shipped to nodes beside the programs there: all that they import, and nothing a node might not have."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rackmark.node.vendors import NONE, VENDORS, device_of, vendor_of_gres
from rackmark.shipping import PACKAGE, with_node_room
from shipped import ROLES, oldest_python, ship

PROGRAMS = {
    "benchmark/files/engine": set(),
    "slurm_health/files/health": set(),
    "accelerator_exporter/files": {"prometheus_client", "scrape_server"},  # packages and a program of their own
}
# Imports every program of a folder and says what came from neither there nor the standard library.
IMPORT_ALL = """
import importlib, pathlib, sys
folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
own = {path.stem for path in folder.glob("*.py")} | {"rackmark"}
for name in sorted(own - {"__main__", "rackmark"}):
    importlib.import_module(name)
known = own | set(sys.stdlib_module_names)
loaded = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)}
outside = [str(module.__file__) for name, module in sys.modules.items() if name.startswith("rackmark")
           and not str(module.__file__).startswith(str(folder))]
print(*sorted(loaded - known), *outside)
"""


@pytest.mark.parametrize("programs", PROGRAMS)
def test_programs_find_what_they_import_beside_them_and_in_the_standard_library(tmp_path, programs):
    folder = ship(ROLES / programs, tmp_path / "programs")
    if programs.startswith("accelerator"):  # which Debian's package has
        (folder / "prometheus_client").mkdir()
        (folder / "prometheus_client/__init__.py").write_text("CollectorRegistry = generate_latest = None\n")
        names = "CounterMetricFamily = GaugeMetricFamily = Metric = None\n"
        (folder / "prometheus_client/core.py").write_text(names)
    done = subprocess.run(
        [sys.executable, "-SEI", "-c", IMPORT_ALL, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) - PROGRAMS[programs] == set()


@pytest.mark.parametrize("programs", [name for name, others in PROGRAMS.items() if not others])
def test_programs_can_be_imported_by_the_oldest_python(tmp_path, programs):
    folder = ship(ROLES / programs, tmp_path / "programs")
    names = [path.stem for path in folder.glob("*.py") if path.stem != "__main__"]
    names += [f"rackmark.node.{path.stem}" for path in (folder / "rackmark/node").glob("*.py")]
    script = f"import importlib, sys; sys.path.insert(0, {str(folder)!r}); [*map(importlib.import_module, {names!r})]"
    done = subprocess.run([str(oldest_python()), "-SEI", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_program_gets_what_its_modules_import_and_no_more():
    files = with_node_room({"p/main.py": "from rackmark.node.host_power import HostPower\n", "p/a.sh": "exit\n"}, "p")
    names = {"__init__", "host_power", "watched_tool", "processes"}
    room = {f"p/rackmark/node/{name}.py" for name in names}
    assert set(files) == {"p/main.py", "p/a.sh", "p/rackmark/__init__.py", *room}
    assert files["p/rackmark/node/processes.py"] == (PACKAGE / "node/processes.py").read_text()


def test_a_program_that_imports_nothing_of_it_stays_as_it_is():
    assert with_node_room({"p/main.py": "import json\n"}, "p") == {"p/main.py": "import json\n"}


@pytest.mark.parametrize(
    ("entry", "vendor"),
    [
        ("gpu:8", "nvidia"),
        ("gpu:a100:8", "nvidia"),
        ("gpu:nvidia:8", "nvidia"),
        ("gpu:ascend:8", "ascend"),
        ("gpu:ascend910b:8", "ascend"),
        ("npu:8", "ascend"),
        ("shard:8", NONE),
        ("", NONE),
    ],
)
def test_the_vendor_of_a_resource_of_slurm(entry, vendor):
    assert vendor_of_gres(entry) == vendor


def test_what_ranks_train_on():
    assert [device_of(vendor) for vendor in (*VENDORS, NONE)] == ["cuda", "npu", "cpu"]

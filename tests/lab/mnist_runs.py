"""What tests of MNIST share: the environment, which takes minutes to compile, Fashion-MNIST, and what ranks said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import host_packages
from lab.trainings import EVENT, ROOT, environment

MNIST = ROOT / "workloads/mnist"
FASHION = Path("/usr/share/datasets/fashion-mnist")
PACKAGE = "dataset-fashion-mnist"


def horovod():
    """The interpreter of the environment of framework=horovod."""
    return environment(MNIST, "horovod")


def fashion_mnist():
    """The folder of its files, which this machine gets if it lacks it."""
    if not FASHION.is_dir():
        host_packages.install(PACKAGE)
    return FASHION


def share_environment(shared):
    """Puts the compiled environment where a cluster's runs look for it, under the name that they give it."""
    folder = Path(horovod()).parents[1]
    place = shared / "rackmark/envs" / folder.name
    if place.exists():
        return
    place.parent.mkdir(exist_ok=True)
    owner = (shared / "rackmark").stat()
    shutil.chown(place.parent, owner.st_uid, owner.st_gid)
    shutil.copytree(folder, place, symlinks=True, copy_function=_link)


def _link(source, place):
    try:
        Path(place).hardlink_to(source)
    except OSError:  # another disk
        shutil.copy2(source, place)


def records(repeat, rank, event=None):
    lines = (repeat / f"rank-{rank}.log").read_text().splitlines()
    found = [json.loads(line[len(EVENT) :]) for line in lines if line.startswith(EVENT)]
    return [record for record in found if event in (None, record["event"])]


def one(repeat, rank, event):
    (record,) = records(repeat, rank, event)
    return record

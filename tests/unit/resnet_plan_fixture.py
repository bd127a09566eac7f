"""Plans of the shipped ResNet-50."""

from pathlib import Path

from rackmark.dialects.catalog import known_names
from rackmark.run.asked import Asked
from rackmark.run.place import Place
from rackmark.run.plan import make_plan
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import read_folder

ROOT = Path(__file__).parents[2]


RESNET_CONTENT = read_folder(ROOT / "workloads/resnet50", dict.fromkeys(known_names()))


RESNET = workload_from(RESNET_CONTENT)


LAB = Asked(preset="lab")


GPUS = Place(nodes=4, devices_per_node=8, accelerator="nvidia", resource="gpu", device="cuda")


def plan(asked=LAB, place=None, workload=RESNET, image=None):
    return make_plan(workload, asked, "20261118-101500-resnet50", place or Place(nodes=4, devices_per_node=1), image)

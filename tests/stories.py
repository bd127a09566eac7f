"""Which tests belong together."""

from __future__ import annotations

import re

# The longest first, so that none of them is left over at the end; tests of the unit tier fill the gaps.
STORIES = {
    "the life of a cluster": r"tests/lab/test_([12]_|3_(accounting|health|hostile_user|operations|slurm)|4_)",
    "runs": r"tests/lab/test_3_(run|broken_runs|ordinary_user|ssh_launcher|workloads)",
    "accelerators": r"tests/lab/test_7_(accelerators|cluster)",
    "searches": r"tests/lab/test_5_",
    "without a cluster": r"tests/lab/test_0_(?!mnist|modelarts)",
    "machines with kernels": r"tests/vm/",
    "a cloud": r"tests/lab/test_0_modelarts",
    "Horovod": r"tests/lab/test_0_mnist",
    "two nodes": r"tests/lab/test_8_",
    "foreign machines": r"tests/lab/test_9_",
    "ranks of devices": r"tests/lab/test_7_device_ranks",
    "containers": r"tests/lab/test_6_",
}


def story_of(nodeid):
    return next((story for story, path in STORIES.items() if re.match(path, nodeid)), None)

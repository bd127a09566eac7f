"""What is told of pip while it builds an environment."""

from __future__ import annotations

import pytest
from rackmark.environments.build_progress import stage

LOG = """\
2026-11-19T18:46:33,712 Using pip 23.0.1 from /envs/x/lib/python3.11/site-packages/pip (python 3.11)
2026-11-19T18:46:33,790 Looking in links: /opt/wheels
2026-11-19T18:46:33,818 2 location(s) to search for versions of numpy:
2026-11-19T18:46:33,900 Collecting numpy==2.2.6
2026-11-19T18:46:34,100   Downloading numpy-2.2.6-cp311-cp311-manylinux_2_17_x86_64.whl (16.8 MB)
2026-11-19T18:46:34,785 Processing /opt/files/torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl
2026-11-19T18:46:35,100   Using cached https://pypi.org/files/horovod-0.28.1.tar.gz
2026-11-19T18:46:36,785 Installing collected packages: mpmath, numpy, torch
2026-11-19T18:46:50,785 Successfully installed mpmath-1.3.0 numpy-2.2.6 torch-2.13.0+cpu
2026-11-19T18:46:51,785   Running command Building wheel for horovod (pyproject.toml)
2026-11-19T18:46:51,900   [  4%] Building CXX object CMakeFiles/common.dir/common.cc.o
2026-11-19T18:46:59,900   [ 45%] Building CXX object CMakeFiles/pytorch.dir/mpi_ops.cc.o
"""


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (0, None),
        (3, None),
        (4, "looking for numpy==2.2.6"),
        (5, "fetching numpy-2.2.6"),
        (6, "fetching torch-2.13.0+cpu"),
        (7, "fetching horovod-0.28.1.tar.gz"),
        (8, "installing 3 packages"),
        (9, "installing 3 packages"),
        (10, "compiling horovod"),
        (12, "compiling horovod, 45 %"),
    ],
)
def test_the_last_that_pip_began_is_told(lines, told):
    assert stage("".join(LOG.splitlines(keepends=True)[:lines])) == told


def test_a_log_whose_begin_is_cut_off_is_read_from_its_first_whole_line():
    assert (
        stage("19T18:46:33,900 Collecting numpy\n2026-11-19T18:46:34,785 Processing /a/b-1.0.whl")
        == "fetching b-1.0.whl"
    )

"""The process through which MindSpore's ranks find each other. The first rank starts it, and it ends with that rank.

Takes the process id of that rank; where to listen and how many ranks to expect are in the environment (MS_*).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # of prctl(2)


def end_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before the line above
        sys.exit(1)


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    import mindspore
    from mindspore.communication import init

    mindspore.set_device("CPU")
    try:
        init("mccl")  # comes back when all ranks have left
    except RuntimeError:  # a rank did not come or was lost, which the ranks report themselves
        sys.exit(1)

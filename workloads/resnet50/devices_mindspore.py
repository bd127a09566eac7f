"""What a rank of MindSpore trains on, and how the ranks talk to each other."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import mindspore
from flags import Flags
from mindspore import communication, nn, ops
from outcome import TrainingError, UsageError
from rackmark_log import processor_name
from ranks import Ranks, device_index

TARGETS = {"cpu": "CPU", "npu": "Ascend"}
PATIENCE = 600  # seconds for all ranks to come
GOODBYE = 0.5  # seconds in which the last message of a rank is acknowledged


def choose(flags: Flags, ranks: Ranks) -> str:
    if flags.device == "cuda":
        raise UsageError("--device cuda is not for MindSpore here: use cpu or npu, or train_pytorch.py for cuda")
    kind = flags.device
    if kind == "auto":
        kind = "npu" if _ascend_visible() else "cpu"
    if kind == "cpu":
        if flags.precision != "fp32":
            raise UsageError(f"--precision {flags.precision} needs an NPU: on the CPU use fp32")
        mindspore.set_device("CPU")
        return kind
    visible = _ascend_visible()
    if not visible:
        raise UsageError("--device npu needs an Ascend device and CANN: MindSpore sees none on this machine")
    mindspore.set_device("Ascend", device_index(ranks, visible, "npu"))
    return kind


def prepare(device: str, deterministic: bool) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    if deterministic:
        mindspore.set_deterministic(True)
    if device == "cpu":
        # MindSpore hands oneDNN plain layouts, for which it has only its slow reference convolutions on AVX-512.
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")
        mindspore.device_context.cpu.op_tuning.threads_num(threads())


def threads() -> int:
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    available = len(os.sched_getaffinity(0))
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else available


def device_name(device: str) -> str:
    if device == "cpu":
        return processor_name()
    return str(mindspore.hal.get_device_name(mindspore.context.get_context("device_id")))


def join(ranks: Ranks, device: str) -> None:
    """Makes one cluster of the ranks: of HCCL's rank table where RANK_TABLE_FILE names one, else of MindSpore's own."""
    os.environ["RANK_ID"] = str(ranks.rank)
    os.environ["RANK_SIZE"] = str(ranks.world_size)
    if device == "cpu" or not os.environ.get("RANK_TABLE_FILE"):
        _meet(ranks)
    try:
        communication.init()
    except (RuntimeError, ValueError) as error:
        meeting_point = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise TrainingError(
            f"rank {ranks.rank} of {ranks.world_size} could not join the others at {meeting_point}: "
            f"not all ranks came there within {PATIENCE} s, or they could not reach each other"
        ) from error
    known_as = communication.get_rank()
    if known_as != ranks.rank:
        raise TrainingError(f"RANK={ranks.rank}, but MindSpore counts this process as rank {known_as}")
    mindspore.set_auto_parallel_context(
        parallel_mode=mindspore.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=ranks.world_size
    )


def total(numbers: list[float] | list[int], ranks: Ranks) -> list[float]:
    """All-reduce: the sums over all ranks; blocks until every rank has called it."""
    if ranks.alone:
        return [float(number) for number in numbers]
    sums = sum_over_ranks(mindspore.Tensor([float(number) for number in numbers], mindspore.float32))
    return [float(number) for number in sums.asnumpy()]


def sum_over_ranks(numbers: mindspore.Tensor) -> mindspore.Tensor:
    return _Sum()(numbers)


def leave(ranks: Ranks) -> None:
    """Ends the process. MindSpore's own way out has each rank wait for others that may be gone before it asks them."""
    if ranks.alone:
        return
    total([0], ranks)
    time.sleep(GOODBYE)
    for child in multiprocessing.active_children():
        child.terminate()
    sys.stdout.flush()
    os._exit(0)


def explain(error: RuntimeError) -> str | None:
    """The sentence in an error that is no fault of the program; None for any other."""
    beyond_us = ("AllReduce", "communicat", "hccl", "out of memory", "Memory not enough", "allocate", "timed out")
    text = str(error)
    return _first_line(error) if any(words.lower() in text.lower() for words in beyond_us) else None


class _Sum(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.sum = ops.AllReduce()

    def construct(self, numbers: mindspore.Tensor) -> mindspore.Tensor:
        return self.sum(numbers)


def _meet(ranks: Ranks) -> None:
    host = socket.gethostbyname(os.environ["MASTER_ADDR"])
    cluster = {
        "MS_WORKER_NUM": str(ranks.world_size),
        "MS_SCHED_HOST": host,
        "MS_SCHED_PORT": os.environ["MASTER_PORT"],
        "MS_TOPO_TIMEOUT": str(PATIENCE),
    }
    for name, value in cluster.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("MS_WORKER_IP", _own_address(host))
    if ranks.rank == 0:
        _start_scheduler(host)
    os.environ.update({"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(ranks.rank)})


def _start_scheduler(host: str) -> None:
    _require_free(host, int(os.environ["MS_SCHED_PORT"]))
    program = Path(__file__).with_name("scheduler_mindspore.py")
    environment = {**os.environ, "MS_ROLE": "MS_SCHED"}
    subprocess.Popen([sys.executable, str(program), str(os.getpid())], env=environment, stdin=subprocess.DEVNULL)


def _require_free(host: str, port: int) -> None:
    """The scheduler would fail out of sight, and its ranks wait for it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise TrainingError(f"the ranks cannot meet at {host}:{port}: {error.strerror}") from error


def _own_address(towards: str) -> str:
    """The address of this host from which the first rank's host is reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((towards, 9))
        return str(probe.getsockname()[0])


def _ascend_visible() -> int:
    if not any(Path("/dev").glob("davinci[0-9]*")):  # asking MindSpore leaves its complaints in the log
        return 0
    ascend = mindspore.device_context.ascend
    return int(ascend.device_count()) if ascend.is_available() else 0


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line.strip("- ") and not line.startswith("- ")), type(error).__name__)

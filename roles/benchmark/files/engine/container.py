"""The ranks of one node in one container, which goes when this program goes, however it goes.

    container.py --job ID [--node-name NAME] [--until-stdin-closes] -- ARGUMENTS OF node.py

Runs in the folder of the repeat, by the record there. Inside runs node.py, which ends when its standard input closes:
this program holds it open, and removes the container by its name. Anyone who may use Docker can run it. The node is
sampled from outside.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from rackmark.node.devices import job_devices, number_of
from rackmark.node.job_record import JobRecord, read_record
from rackmark.node.processes import Events, shell_status
from rackmark.node.vendors import VENDORS
from sampling import sampled

SECONDS_TO_END = 5
SECONDS_TO_REMOVE = 30
ENDED_FROM_OUTSIDE = 143
COULD_NOT_START = 127
# Tuning that a person has set for the job. Which devices a rank sees is numbered anew in a container.
_PASSED_ON = (
    *("NCCL_", "GLOO_", "HCCL_", "UCX_", "TORCH_", "MS_", "HOROVOD_"),
    *("SLURM_JOB_ID", "SLURM_NODEID", "SLURMD_NODENAME"),
)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="container.py")
    parser.add_argument("--job", required=True)
    parser.add_argument("--until-stdin-closes", action="store_true")
    parser.add_argument("--node-name", default=os.environ.get("SLURMD_NODENAME"))
    parser.add_argument("--dev", type=Path, default=Path("/dev"))
    parser.add_argument("arguments", nargs="+")
    return parser.parse_args(arguments)


def docker_command(record: JobRecord, options: argparse.Namespace, name: str) -> list[str]:
    engine = Path(__file__).resolve().parent
    folder = Path.cwd()
    data = [Path(record.dataset)] if record.dataset else []
    mounts = outermost([*map(Path, record.mounts), *data, engine.parent, folder])  # a run's code is beside its engine
    groups = sorted(set(os.getgroups()) - {os.getgid()})  # what only a group may read, and devices of a group
    variables = sorted(variable for variable in os.environ if variable.startswith(_PASSED_ON))
    return [
        *("docker", "run", "--rm", "--init", "--interactive", f"--name={name}", f"--label=rackmark.job={options.job}"),
        *("--network=host", f"--shm-size={record.shm_size}", "--ulimit=stack=67108864"),
        *(f"--user={os.getuid()}:{os.getgid()}", "--env=USER=rackmark", "--env=HOME=/tmp"),
        *(f"--group-add={group}" for group in groups),
        *(f"--env={variable}" for variable in variables),
        f"--workdir={folder}",
        *(f"--volume={mount}:{mount}" for mount in mounts),
        *device_options(record, options.dev),
        *("--entrypoint=python3", record.image, "-SE", str(engine / "node.py"), *options.arguments),
    ]


def outermost(folders: list[Path]) -> list[Path]:
    """Docker's engine is root, which on a file server is nobody, and cannot enter what only the user may enter."""
    return [folder for folder in dict.fromkeys(folders) if not any(other in folder.parents for other in folders)]


def device_options(record: JobRecord, dev: Path) -> list[str]:
    """Only devices of the job, and no more than it uses on this node."""
    vendor = record.accelerator
    if vendor not in VENDORS:
        return []
    devices = job_devices(vendor, dev)[: record.devices_per_node]
    # RDMA keeps memory from being moved. An engine with a limit of its own, as in a container, refuses to lift it.
    rdma = [f"--device={dev / 'infiniband'}", "--ulimit=memlock=-1"]
    fabric = rdma if (dev / "infiniband").exists() else []
    known = VENDORS[vendor]
    if known.has_runtime and has_driver(devices):
        numbers = ",".join(str(number_of(vendor, path)) for path in devices)
        return [f'--gpus="device={numbers}"', *fabric]
    if not known.has_runtime:
        devices += [path for path in (Path("/dev", name) for name in known.common_files) if path.exists()]
        fabric += [f"--volume={path}:{path}:ro" for path in known.driver_paths if Path(path).exists()]
    return [*(f"--device={path}" for path in devices), *fabric]


def has_driver(devices: list[Path]) -> bool:
    """Device files without a driver behind them are simulated ones, of which NVIDIA's runtime knows nothing."""
    try:
        os.close(os.open(devices[0], os.O_RDWR | os.O_NONBLOCK))
    except (OSError, IndexError):
        return False
    return True


def follow(container: subprocess.Popen[bytes], events: Events, until_stdin_closes: bool) -> int:
    """The container's exit status, or when it is time to end it, that of a program ended from outside."""
    files = [sys.stdin.fileno()] if until_stdin_closes else []
    while container.poll() is None:
        closed = events.wait(None, files) and not os.read(files[0], 4096)
        if closed or events.stop is not None:
            return ENDED_FROM_OUTSIDE
    return shell_status(container.returncode)


def end(container: subprocess.Popen[bytes], name: str) -> None:
    """Lets node.py end its ranks, so that they leave their exit statuses, and removes what is there after that.

    The container may be there when its client has gone: it is made by one request and started by another.
    """
    if container.stdin is not None:
        container.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        container.wait(SECONDS_TO_END)
    with suppress(subprocess.TimeoutExpired):  # the engine no longer answers
        command = ["docker", "rm", "--force", "--volumes", name]
        subprocess.run(command, capture_output=True, timeout=SECONDS_TO_REMOVE, check=False)
    container.kill()
    container.wait()


def main() -> int:
    options, record = parse(sys.argv[1:]), read_record(Path.cwd())
    name = f"rackmark-{options.job}-{os.getpid()}"  # nobody else's container is removed by it
    events = Events()
    with sampled(record, options.node_name):
        return run(record, options, name, events)


def run(record: JobRecord, options: argparse.Namespace, name: str, events: Events) -> int:
    command = docker_command(record, options, name)
    try:
        container = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        print(f"rackmark: Docker cannot be started: {error.strerror}.", file=sys.stderr)
        return COULD_NOT_START
    try:
        return follow(container, events, options.until_stdin_closes)
    finally:
        end(container, name)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3 -IS
"""Ends what a job left behind on this node: its processes, its containers, its temporary folders.

By the job's number alone, never by user or program: other jobs of the same user are none of its business.
A process belongs to the job when Slurm's cgroup says so or, where it is in no job's cgroup, its environment.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import syslog
import time
from pathlib import Path

SECONDS_TO_END = 3
SECONDS_FOR_DOCKER = 30
DOCKER = Path("/run/docker.sock")
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")


def ancestors() -> set[int]:
    """This process and those that wait for it: they carry the job's number too."""
    pid, found = os.getpid(), set()
    while pid > 0:
        found.add(pid)
        pid = int(re.search(r"^PPid:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE).group(1))
    return found


def belongs(pid: int, job: str, uid: int) -> bool:
    process = Path(f"/proc/{pid}")
    try:
        if process.stat().st_uid != uid:
            return False
        in_cgroup = re.search(r"/job_(\d+)(/|$)", (process / "cgroup").read_text(), re.MULTILINE)
        if in_cgroup:
            return in_cgroup.group(1) == job
        return f"SLURM_JOB_ID={job}".encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it ended meanwhile
        return False


def alive(pid: int) -> bool:
    """Not ended, and not a zombie, which only waits for its parent."""
    try:
        return not re.search(r"^State:\s*[ZX]", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return False


def processes(job: str, uid: int) -> list[int]:
    spared = ancestors()
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [pid for pid in pids if pid not in spared and belongs(pid, job, uid) and alive(pid)]


def end_processes(job: str, uid: int) -> list[str]:
    """Those that are still there are asked, then killed. Returns complaints: of those that outlive being killed, and
    not of new ones, which a user could go on to start for ever.
    """
    for how in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + SECONDS_TO_END
        left = told = processes(job, uid)
        for pid in left:
            say(f"job {job} left process {pid}, sending {how.name}")
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                continue
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left = processes(job, uid)
        if not left:
            return []
    immortal = sorted(set(left) & set(told))
    return [f"job {job} left processes that cannot be killed: {', '.join(map(str, immortal))}"] if immortal else []


def end_containers(job: str) -> list[str]:
    """Those that carry the label rackmark.job with the job's number."""
    if shutil.which("docker") is None or not (docker_listens() or containers_run()):
        return []
    try:
        labelled = docker("ps", "--all", "--quiet", "--filter", f"label=rackmark.job={job}").split()
        if labelled:
            say(f"job {job} left containers {' '.join(labelled)}, removing them")
            docker("rm", "--force", "--volumes", *labelled)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return [f"containers of job {job} could not be ended: {error} {error.stderr or ''}"]
    return []


def docker_listens() -> bool:
    """The socket of an engine that was stopped stays behind."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(SECONDS_TO_END)
        try:
            asked.connect(str(DOCKER))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:  # it is too busy to answer
            return True
    return True


def containers_run() -> bool:
    """Also without an engine, when it was set up to leave them alone."""
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().startswith("containerd-shim"):
                return True
        except OSError:  # it ended meanwhile
            continue
    return False


def docker(*arguments: str) -> str:
    done = subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, check=True, timeout=SECONDS_FOR_DOCKER
    )
    return done.stdout


def remove_temporary(job: str, uid: int) -> None:
    """Folders named rackmark-job-NUMBER that the job's user owns; a link of that name is not followed.

    What cannot be removed is said and no more: its user may be writing there still, and no other job minds it.
    """
    for folder in (Path(parent, f"rackmark-job-{job}") for parent in TEMPORARY):
        if folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == uid:
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                say(f"{folder} of job {job} could not be removed")


def say(words: str) -> None:
    print(words)
    syslog.syslog(words)


def main() -> int:
    os.environ.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    syslog.openlog("rackmark-epilog")
    job, uid = os.environ["SLURM_JOB_ID"], int(os.environ["SLURM_JOB_UID"])
    complaints = [*end_processes(job, uid), *end_containers(job)]
    remove_temporary(job, uid)
    for complaint in complaints:
        say(complaint)
    # Slurm drains the node for a status that is not 0: the next job would meet what is left.
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

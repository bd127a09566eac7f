"""What is looked at on a node. Every check gets its section of the configuration and returns the faults it finds."""

from __future__ import annotations

import configparser
import contextlib
import errno
import fcntl
import os
import pwd
import re
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Iterator, List

from rackmark.node import device_network
from rackmark.node.devices import count_by_driver, device_file, device_files, number_of

SECONDS_TO_FIND_THE_TIME = 300  # after booting, before chrony has to know it

Options = configparser.SectionProxy
Check = Callable[[Options], List[str]]


class UnknownError(Exception):
    """A check that has nothing to look at on this node."""


# What a user can bring upon his own folder: closed to himself, his quota used up.
OWN_DOING = (errno.EACCES, errno.EPERM, errno.EDQUOT)


def check_shared(options: Options) -> list[str]:
    with one_at_a_time(options["lock"]):
        if "mount" in options and not Path(options["mount"]).is_mount():
            return [f"{options['mount']} is not mounted"]
        folder, user = Path(options["folder"]), pwd.getpwnam(options["user"])
        if mounted_by(user.pw_uid, folder):
            raise UnknownError(f"{user.pw_name} has mounted something of its own on {folder}")
        if os.geteuid() == 0:  # root may be nobody on the file server
            os.initgroups(user.pw_name, user.pw_gid)
            os.setegid(user.pw_gid)
            os.seteuid(user.pw_uid)  # the real user stays root, whom that user cannot stop or end
        try:
            write_and_remove(folder / f".rackmark-health-{options['name']}-{secrets.token_hex(4)}", options["name"])
        except OSError as error:
            if error.errno in OWN_DOING and (error.errno == errno.EDQUOT or folder.stat().st_uid == user.pw_uid):
                raise UnknownError(f"{user.pw_name} cannot write to its own {folder} ({error.strerror})") from error
            return [f"{folder} cannot be written to by {user.pw_name} ({error.strerror})"]
    return []


@contextlib.contextmanager
def one_at_a_time(path: str) -> Iterator[None]:
    """So that a dead file server holds up one process and not one more at every check."""
    try:  # root's alone: who can open it can also hold it
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except PermissionError:  # somebody else only looks
        yield
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def mounted_by(uid: int, folder: Path) -> bool:
    """Whether the user has mounted a file system of his own there (FUSE), which may hang as he likes."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, _, kind = line.partition(" - ")
        if place.split()[4] == str(folder) and kind.startswith("fuse") and f"user_id={uid}" in re.split("[ ,]", kind):
            return True
    return False


def write_and_remove(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, text.encode())
        os.fsync(file)
    finally:
        os.close(file)
        path.unlink()


def check_disk(options: Options) -> list[str]:
    needed, faults, seen = options.getfloat("free_percent"), [], set()
    for folder in options["folders"].split("\n"):
        if not Path(folder).is_dir():
            faults.append(f"{folder} is missing")
            continue
        device, usage = Path(folder).stat().st_dev, os.statvfs(folder)
        if device in seen:
            continue
        seen.add(device)
        left = {"space": (usage.f_bavail, usage.f_blocks), "inodes": (usage.f_favail, usage.f_files)}
        for what, (free, total) in left.items():
            if total and 100 * free / total < needed:  # some file systems do not count inodes
                faults.append(f"{folder} has {100 * free / total:.1f} % of its {what} free and needs {needed:g} %")
    return faults


def check_devices(options: Options) -> list[str]:
    vendor, expected = options["vendor"], options.getint("count")
    folder = Path(options.get("folder", "/dev"))
    there = device_files(vendor, folder)
    faults = []
    if len(there) < expected:
        wanted = [device_file(vendor, number, folder) for number in range(expected)]
        missing = ", ".join(str(path) for path in wanted if path not in there)
        faults.append(f"{len(there)} of {expected} {vendor} device files are there, without {missing}")
    listed = count_by_driver(vendor, 0.9 * options.getfloat("time_limit"))
    if listed is not None and listed < expected:
        faults.append(f"the driver's tool lists {listed} of {expected} {vendor} devices")
    return faults


def check_device_network(options: Options) -> list[str]:
    """Whether the devices would come back with the addresses that they have now."""
    conf = Path(options.get("conf", str(device_network.CONF)))
    there = {number_of("ascend", path) for path in device_files("ascend", Path(options.get("folder", "/dev")))}
    kept = device_network.kept_addresses(device_network.read_conf(conf))
    numbers = sorted(there & kept.keys())
    if not numbers:
        raise UnknownError(f"{conf} keeps no address of a device")
    answers = device_network.asked(numbers, "ip", 0.7 * options.getfloat("time_limit"))
    faults = device_network.differences(answers, kept, conf)
    unsaid = [str(number) for number in numbers if device_network.address_in(answers[number]) is None]
    if unsaid and not faults:  # a device at work may be busy, and that is no fault of it
        raise UnknownError(f"hccn_tool does not tell the address of device {', '.join(unsaid)}")
    return faults


def check_clock(options: Options) -> list[str]:
    if shutil.which("chronyc") is None:
        raise UnknownError("there is no chronyc here")
    done = subprocess.run(["chronyc", "-c", "-n", "tracking"], capture_output=True, text=True, check=False)
    fields = done.stdout.strip().split(",")
    if done.returncode != 0 or len(fields) < 14:
        return ["chronyd does not answer"]
    if fields[13] == "Not synchronised":
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return ["chronyd follows no time source"] if uptime > SECONDS_TO_FIND_THE_TIME else []
    skew, most = abs(float(fields[4])), options.getfloat("max_skew")
    return [f"the clock is {skew:.1f} s off and may be {most:g} s"] if skew > most else []


def check_munge(_: Options) -> list[str]:
    try:
        made = subprocess.run(["munge", "-n"], capture_output=True, check=False)
        read = subprocess.run(["unmunge"], input=made.stdout, capture_output=True, check=False)
    except FileNotFoundError:
        return ["munge is not installed"]
    said = (made.stderr if made.returncode else read.stderr).decode().strip()
    return [f"no credential can be made and read back ({said})"] if made.returncode or read.returncode else []


CHECKS: dict[str, Check] = {
    "shared": check_shared,
    "disk": check_disk,
    "devices": check_devices,
    "device_network": check_device_network,
    "clock": check_clock,
    "munge": check_munge,
}

"""OpenStack Swift with its s3api as the object store: real daemons on loopback, without root, and signatures count."""

from __future__ import annotations

import fcntl
import hashlib
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from rackmark.node.processes import die_with_parent, end_groups

from .loopback import Tls, free_ports

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
ACCESS_KEY = "bench:user"  # account and user, which tempauth wants in one
REGION = "loopback-1"
BACKENDS = {"account": "account", "container": "container", "object": "obj"}
SECONDS_TO_START = 60
# A process for each server, started without swift-init, which would write below /var.
START = "import sys; from swift.{module}.server import main; sys.argv[0] = 'swift-{name}-server'; sys.exit(main())"
RING = """
from swift.common.ring import RingBuilder
import sys
folder, name, port = sys.argv[1:]
builder = RingBuilder(part_power=4, replicas=1, min_part_hours=0)
builder.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "disk", "weight": 1})
builder.rebalance()
builder.get_ring().save(f"{folder}/{name}.ring.gz")
"""

PROXY = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
swift_dir = {folder}
workers = 0
{tls}
[pipeline:main]
pipeline = requests catch_errors s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 20
node_timeout = 60
log_level = WARNING
[filter:requests]
paste.filter_factory = request_log:filter_factory
file = {folder}/requests.log
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:s3api]
use = egg:swift#s3api
location = {region}
log_level = WARNING
[filter:tempauth]
use = egg:swift#tempauth
user_bench_user = {secret} .admin
log_level = WARNING
[filter:slo]
use = egg:swift#slo
"""
BACKEND = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
workers = 0
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
log_level = WARNING
# On a busy machine an object would else be missing in listings: no daemon brings that in later.
container_update_timeout = 60
conn_timeout = 20
node_timeout = 60
"""


def environment(cache: Path) -> Path:
    """The Python that has Swift; made once for each list of packages, which takes ten seconds."""
    folder = cache / f"swift-{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]}"
    python = folder / "bin/python"
    cache.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests of several files begin at the same time
        if not (folder / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            install = ["-m", "pip", "install", "-qq", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
            subprocess.run([python, *install, "-r", REQUIREMENTS], check=True)
            (folder / "complete").touch()
    return python


class Swift:
    """The store while it is entered; everything of it is in one folder."""

    def __init__(self, folder: Path, python: Path, secret: str, tls: Tls | None) -> None:
        self.folder, self._python, self._secret, self._tls = folder, python, secret, tls
        self.port, *self._ports = free_ports(1 + len(BACKENDS))
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def endpoint(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[str]:
        """Method, path with query, and status of each request that was answered."""
        path = self.folder / "requests.log"
        return path.read_text().splitlines() if path.exists() else []

    def __enter__(self) -> Swift:
        (self.folder / "devices/disk").mkdir(parents=True)
        self._write("swift.conf", f"[swift-hash]\nswift_hash_path_suffix = {self._secret[:8]}\n")
        tls = f"cert_file = {self._tls.certificate}\nkey_file = {self._tls.key}" if self._tls else ""
        known = {"folder": self.folder, "tls": tls, "region": REGION, "secret": self._secret}
        self._write("proxy.conf", PROXY.format(port=self.port, **known))
        for (name, module), port in zip(BACKENDS.items(), self._ports):
            self._write(f"{name}.conf", BACKEND.format(port=port, name=name, **known))
            subprocess.run([self._python, "-c", RING, self.folder, name, str(port)], check=True)
            self._start(name, module)
        self._start("proxy", "proxy")
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        end_groups(self._started, 5)

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text)

    def _start(self, name: str, module: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self._started.append(
                subprocess.Popen(
                    [self._python, "-c", START.format(name=name, module=module), self.folder / f"{name}.conf", "-v"],
                    env={"PYTHONPATH": str(HERE / "paste"), "PATH": "/usr/bin:/bin", "PYTHONWARNINGS": "ignore"},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=die_with_parent(),
                )
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        for port in (*self._ports, self.port):
            while True:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                if time.monotonic() > deadline or any(each.poll() is not None for each in self._started):
                    said = "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))
                    raise RuntimeError(f"Swift did not start within {SECONDS_TO_START} s:\n{said}")
                time.sleep(0.05)

"""Driving playbooks with ansible-runner and asking the virtual cluster what came of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

import ansible_runner

ROOT = Path(__file__).parents[2]
STATE_DIR = Path(os.environ.get("RACKMARK_STATE_DIR") or "/var/lib/rackmark")
# Of the cluster of this process; pytest-xdist numbers its processes, and benchmarks name one of their own.
_CLUSTERS = {
    "gw0": ("test", "10.78.0.0/24"),
    "gw1": ("beta", "10.80.0.0/24"),
    "gw2": ("gamma", "10.82.0.0/24"),
    "gw3": ("delta", "10.83.0.0/24"),
    "gw4": ("epsilon", "10.84.0.0/24"),
    "gw5": ("zeta", "10.85.0.0/24"),
    "gw6": ("eta", "10.86.0.0/24"),
    "gw7": ("theta", "10.87.0.0/24"),
    "bench": ("bench", "10.79.0.0/24"),
}
NAME, SUBNET = _CLUSTERS[os.environ.get("RACKMARK_BENCH") or os.environ.get("PYTEST_XDIST_WORKER", "gw0")]

_END = "/userhome/rackmark/end-of-job"  # seen on all nodes


@dataclass
class Play:
    """What a playbook run came to."""

    status: int
    output: str
    stats: dict[str, dict[str, int]]
    changed: list[str]
    failures: list[str]
    installed: dict[str, list[str]]
    logins: dict[str, int]
    """Modules that were carried out for a host, without those whose results are hidden."""

    def succeeded(self) -> Play:
        assert self.status == 0, self.output[-6000:]
        return self

    def failed_with(self, *words: str) -> Play:
        assert self.status != 0, self.output[-3000:]
        for word in words:
            assert any(word in failure for failure in self.failures), f"{word!r} is not in {self.failures}"
        return self


class Cluster:
    def __init__(self, artifacts: Path) -> None:
        self.artifacts = artifacts
        self.directory = STATE_DIR / "labs" / NAME
        self.runs_dir = artifacts / "runs"
        self.purpose: str | None = None  # what its nodes were booted for
        self.is_down = False
        self.is_provisioned = False

    def down(self) -> None:
        if not self.is_down:
            self.play("playbooks/lab_down.yml").succeeded()
        self.purpose, self.is_provisioned, self.is_down = None, False, True

    def boot_for(self, purpose: str | None, **wanted: Any) -> None:
        """Nodes that nothing has been done to, unless they were booted for the same purpose before."""
        if self.purpose is None or self.purpose != purpose:
            self.down()
            self.is_down = False
            self.play("playbooks/lab_up.yml", **wanted).succeeded()
            self.purpose = purpose

    def provision(self) -> None:
        if not self.is_provisioned:
            self.play("site.yml").succeeded()
            self.is_provisioned = True

    def play(self, playbook: str, *, cmdline: str = "", verbosity: int | None = None, **variables: Any) -> Play:
        done = ansible_runner.run(
            private_data_dir=tempfile.mkdtemp(dir=self.artifacts),  # a used one would hand on its options
            project_dir=str(ROOT),
            playbook=playbook,
            cmdline=cmdline,
            verbosity=verbosity,
            quiet=True,
            envvars={
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "callback_plugins"),  # ansible-runner adds its own
                "RACKMARK_LAB": NAME,
                "RACKMARK_STATE_DIR": str(STATE_DIR),
                "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self.artifacts / "facts"),
            },
            extravars={"lab_subnet": SUBNET, "benchmark_runs_dir": str(self.runs_dir), **variables},
        )
        return _read(done)

    @contextmanager
    def playing(self, playbook: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """A playbook that runs while something happens."""
        environment = {
            **os.environ,
            "RACKMARK_LAB": NAME,
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self.artifacts / "facts"),
        }
        log = self.artifacts / "playing.log"
        command = ["ansible-playbook", playbook, *options]
        with log.open("w") as output, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output) as process:
            try:
                yield process
            except Exception as error:
                state = "still runs" if process.poll() is None else f"has ended with {process.returncode}"
                error.add_note(f"The playbook {state}. It has said:\n{log.read_text()[-3000:]}")
                raise
            finally:
                process.terminate()

    def on(self, node: str, command: str, check: bool = True) -> str:
        """Output of a command on a node, as root."""
        ssh = ["ssh", "-F", str(self.directory / "ssh_config"), node, command]
        done = subprocess.run(ssh, capture_output=True, text=True, check=False, timeout=120)
        assert not check or done.returncode == 0, f"'{command}' on {node}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def copy(self, path: Path, node: str, place: str) -> None:
        """A file of this machine to a node, as root, who may run it."""
        ssh = ["ssh", "-F", str(self.directory / "ssh_config"), node, f"cat >{place} && chmod 755 {place}"]
        subprocess.run(ssh, input=path.read_bytes(), check=True, timeout=120)

    def node_states(self) -> dict[str, str]:
        rows = self.on("head", "sinfo --noheader --Node --format='%N %T'").splitlines()
        return dict(row.split() for row in rows)

    def kill_power(self, node: str) -> None:
        """End the node's supervisor and all its processes at once, as a power cut would."""
        marks = (f"rackmark-lab/{NAME}/{node}/", f"rackmark-{NAME}-{node}.service/")  # with and without systemd

        def processes() -> list[str]:
            return [path.parent.name for path in Path("/proc").glob("[0-9]*/cgroup") if _mentions(path, marks)]

        assert processes(), f"{node} has no processes"
        while pids := processes():
            subprocess.run(["kill", "-KILL", *pids], capture_output=True, check=False)
            time.sleep(0.05)

    def hang_up(self, node: str) -> None:
        """End the connection that Ansible keeps open, so that the next one has to be made anew."""
        control = ["ssh", "-O", "exit", "-o", f"ControlPath={self.directory}/ssh/{node}", node]
        subprocess.run(control, capture_output=True, check=False)

    def start_job(self, seconds: int, *options: str) -> str:
        """A job of the benchmark user that sleeps; comes back with its number when it runs."""
        return self._start(f"srun sleep {seconds}", *options)

    @contextmanager
    def job_meanwhile(self, *options: str) -> Iterator[str]:
        """A job that runs all the time, however long that is, and then ends well."""
        self.on("head", f"rm -f {_END}")
        job = self._start(f'srun sh -c "until test -e {_END}; do sleep 0.2; done"', *options)
        try:
            yield job
            assert self.job_state(job) == "RUNNING"
        finally:
            self.on("head", f"touch {_END}")
        self.wait_until(lambda: self.job_state(job) == "COMPLETED", "the job ends well")

    def _start(self, script: str, *options: str) -> str:
        command = f"sbatch --parsable --output=/dev/null {' '.join(options)} --wrap '{script}'"
        job = self.on("head", f"cd / && runuser -u rackmark -- {command}")
        self.wait_until(lambda: self.job_state(job) == "RUNNING", f"job {job} runs")
        return job

    def job_state(self, job: str) -> str:
        return self.on("head", f"squeue --noheader --states=all --jobs={job} --format=%T")

    def recorded(self, job: str) -> str:
        """User, account and state of a job that has ended, as accounting knows them."""
        question = f"sacct --noheader --parsable2 --allocations --jobs={job} --format=user,account,state"
        going_on = ("", "RUNNING", "PENDING")  # or the database does not answer yet

        def state() -> str:
            return self.on("head", question, check=False).rpartition("|")[2]

        self.wait_until(lambda: state() not in going_on, f"sacct knows job {job}")
        return self.on("head", question)

    def wait_until(self, holds: Callable[[], bool], what: str, seconds: float = 60, pause: float = 0.5) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not so after {seconds} seconds: {what}"
            time.sleep(pause)

    def wait_until_idle(self) -> None:
        try:
            self.wait_until(lambda: set(self.node_states().values()) == {"idle"}, "all nodes are idle")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.on('head', 'sinfo --Node --long')}") from None

    def service_started(self, node: str, service: str) -> str:
        return self.on(node, f"systemctl show --property=ExecMainStartTimestampMonotonic,ExecMainPID {service}")

    def latest_run(self) -> Path:
        return (self.runs_dir / "latest").resolve()


def _mentions(path: Path, marks: tuple[str, ...]) -> bool:
    try:
        return any(mark in path.read_text() for mark in marks)
    except OSError:  # the process ended while we looked
        return False


def _read(done: ansible_runner.Runner) -> Play:
    stats: dict[str, dict[str, int]] = {}
    installed: dict[str, list[str]] = {}
    logins: dict[str, int] = {}
    changed, failures = [], []
    for event in done.events:
        data = event.get("event_data", {})
        result = data.get("res") or {}
        if event["event"] == "runner_on_ok" and "invocation" in result:
            logins[data["host"]] = logins.get(data["host"], 0) + 1
        if event["event"] == "runner_on_ok" and "installed" in result:
            installed.setdefault(data["host"], []).extend(result["installed"])
        if event["event"] == "runner_on_ok" and result.get("changed"):
            changed.append(f"{data['host']}: {data['task']}")
        elif event["event"] in ("runner_on_failed", "runner_on_unreachable"):
            failures.append(json.dumps(result, ensure_ascii=False))
        elif event["event"] == "playbook_on_stats":
            hosts = data.get("processed", {})
            stats = {host: {key: data.get(key, {}).get(host, 0) for key in ("changed", "failures")} for host in hosts}
    return Play(done.rc, done.stdout.read(), stats, changed, failures, installed, logins)


@dataclass(frozen=True)
class HostTraces:
    """What a virtual cluster could leave on the machine that carries it."""

    mounts: frozenset[str]
    links: frozenset[str]
    firewall: frozenset[str]
    cgroups: frozenset[str]
    runtime_files: frozenset[str]
    settings: tuple[str, ...]
    processes: frozenset[str]

    @classmethod
    def now(cls, lab: str) -> HostTraces:
        def lines(*command: str) -> list[str]:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

        settings = ("net/ipv4/ip_forward", "fs/inotify/max_user_instances", "fs/inotify/max_user_watches")
        groups = [path for path in Path("/sys/fs/cgroup").rglob("*rackmark*") if "payload" not in path.parts]
        # Without nft, as before the first lab on a machine, there are no rules of its making.
        firewall = lines("nft", "list", "ruleset") if shutil.which("nft") else []
        return cls(
            mounts=frozenset(Path("/proc/mounts").read_text().splitlines()),
            links=frozenset(line.split()[0].partition("@")[0] for line in lines("ip", "-brief", "link")),
            firewall=frozenset(firewall),
            cgroups=frozenset(str(path) for group in groups for path in (group, *group.glob("*")) if path.is_dir()),
            runtime_files=frozenset(str(path) for path in Path("/run/systemd/nspawn").rglob("*") if path.is_dir()),
            settings=tuple(Path("/proc/sys", setting).read_text() for setting in settings),
            processes=frozenset(line for line in lines("ps", "-e", "-o", "args=") if f"labs/{lab}/" in line),
        )

    def naming(self, lab: str) -> list[str]:
        """Those that bear the name of the lab, whatever other labs leave or take away meanwhile."""
        names = re.compile(rf"(labs/|rmk-|vb-|rackmark_|rackmark-lab/|rackmark-|propagate/|unix-export/){lab}\b")
        found = (self.mounts, self.links, self.firewall, self.cgroups, self.runtime_files, self.processes)
        return sorted(trace for traces in found for trace in traces if names.search(trace))

"""How long site.yml takes, against the bare installation of the same packages on the same kind of fresh nodes.

python bench/provision.py            everything, about 15 minutes on 2 cores
python bench/provision.py core       base, munge and Slurm on 4 fresh hosts; and their second run
python bench/provision.py complete   all of the shipped inventory on a head and 4 nodes; and its second run
python bench/provision.py growth     the second run on 16 nodes against that on 4
python bench/provision.py render     slurm.conf for 1000 hosts
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ["RACKMARK_BENCH"] = "bench"  # a cluster of its own, whatever tests do meanwhile
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "module_utils")]
from ansible.plugins.loader import cache_loader, init_plugin_loader  # noqa: E402
from lab.cluster import NAME, Cluster, Play  # noqa: E402

CORE = f"-i {ROOT}/inventory/lab.py -i {ROOT}/bench/core.yml"
ACCELERATORS = {"vendor": "nvidia", "count": 8}
CPU_SHARE = 0.4  # the same for any number of nodes, so that only the number differs


def control_seconds() -> float:
    """Processor time of the playbooks that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def nodes_seconds() -> float | None:
    """Processor time of all virtual nodes; None where the kernel does not count it for them."""
    for hierarchy in ("unified/", ""):
        counter = Path(f"/sys/fs/cgroup/{hierarchy}rackmark-lab/{NAME}/cpu.stat")
        if counter.exists():
            return int(counter.read_text().split()[1]) / 1e6
    return None


class Bench:
    def __init__(self) -> None:
        self.cluster = Cluster(Path(tempfile.mkdtemp(prefix="rackmark-bench-")))

    def fresh(self, nodes: int, cpu_share: float) -> None:
        self.cluster.play("playbooks/lab_down.yml").succeeded()
        self.cluster.play("playbooks/lab_up.yml", lab_nodes=nodes, lab_cpu_share=cpu_share).succeeded()

    def site(self, inventory: str = "") -> tuple[float, Play]:
        began = time.monotonic()
        play = self.cluster.play("site.yml", cmdline=inventory).succeeded()
        return time.monotonic() - began, play

    def second_run(self, inventory: str = "") -> tuple[float, str]:
        """Its time, and what it cost the processors, which says the same on a machine that others use."""
        control, nodes = control_seconds(), nodes_seconds()
        seconds, play = self.site(inventory)
        control = control_seconds() - control
        on_nodes = "" if nodes is None else f", {(nodes_seconds() or 0) - nodes:.1f} s on the hosts"
        return seconds, f"changed={len(play.changed)}, processors {control:.1f} s here{on_nodes}"

    def bare_installation(self, packages: dict[str, list[str]]) -> float:
        """apt-get alone, on all hosts at once over SSH, as somebody would do it who needs nothing but the packages."""
        began = time.monotonic()
        running = [self._install(host, names) for host, names in packages.items() if names]
        for process in running:
            output, _ = process.communicate()
            if process.returncode:
                raise SystemExit(f"apt-get failed: {output[-2000:]}")
        return time.monotonic() - began

    def _install(self, host: str, names: list[str]) -> subprocess.Popen[str]:
        install = f"apt-get install -qy --no-install-recommends {' '.join(sorted(set(names)))}"
        command = f"export DEBIAN_FRONTEND=noninteractive; apt-get update -q && {install}"
        ssh = ["ssh", "-F", str(self.cluster.directory / "ssh_config"), host, command]
        return subprocess.Popen(ssh, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def against_the_floor(self, title: str, nodes: int, inventory: str = "", cpu_share: float = CPU_SHARE) -> None:
        self.fresh(nodes, cpu_share)
        # Whatever mirror or proxy there is has the packages now; both sides that are compared find them there.
        _, warm_up = self.site(inventory)
        self.fresh(nodes, cpu_share)
        bare = self.bare_installation(warm_up.installed)
        self.fresh(nodes, cpu_share)
        first, _ = self.site(inventory)
        second, cost = self.second_run(inventory)
        hosts = nodes + 1
        print(f"{title}, {hosts} hosts:")
        asked = sum(map(len, warm_up.installed.values()))
        print(f"  bare apt-get install   {bare:6.1f} s   {asked} packages asked for")
        print(f"  site.yml, first run    {first:6.1f} s   {first / bare:.2f} times the bare installation")
        print(f"  site.yml, second run   {second:6.1f} s   {cost}", flush=True)

    def growth(self) -> None:
        seconds = {}
        for nodes in (4, 16):
            self.fresh(nodes, CPU_SHARE)
            self.site()
            seconds[nodes], cost = self.second_run()
            print(f"second run, {nodes:2d} nodes      {seconds[nodes]:6.1f} s   {cost}", flush=True)
        print(f"  16 nodes take {seconds[16] / seconds[4]:.2f} times as long as 4")

    def close(self) -> None:
        self.cluster.play("playbooks/lab_down.yml").succeeded()


def render() -> None:
    """slurm.conf as the playbook makes it, for hosts of two kinds whose facts are known."""
    facts = {
        "distribution_release": "bookworm",
        "processor_count": 2,
        "processor_nproc": 128,
        "processor_threads_per_core": 2,
        "memtotal_mb": 1031000,
    }
    init_plugin_loader()
    with tempfile.TemporaryDirectory() as folder:
        cache = cache_loader.get("ansible.builtin.jsonfile", _uri=folder)
        for number in range(1, 1001):
            name = f"node{number}"
            cache.set(name, {**facts, "hostname": name, "accelerators": ACCELERATORS if number <= 600 else {}})
        done = subprocess.run(
            ["ansible-playbook", "-i", "bench/thousand_hosts.py", "bench/render.yml"],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_CACHE_PLUGIN_CONNECTION": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    print("1000 hosts in 2 hardware groups:")
    wanted = ("Work out", "slurm.conf has")
    print("\n".join(line for line in done.stdout.splitlines() if any(word in line for word in wanted)), flush=True)


def main() -> None:
    wanted = sys.argv[1:] or ["core", "complete", "growth", "render"]
    unknown = set(wanted) - {"core", "complete", "growth", "render"}
    if unknown:
        raise SystemExit(f"{' '.join(unknown)}: use core, complete, growth, render, or nothing for all.")
    if "render" in wanted:
        render()
    if set(wanted) == {"render"}:
        return
    bench = Bench()
    try:
        if "core" in wanted:
            # Any node may use a whole core, as where the times of others were taken.
            bench.against_the_floor("base, munge and Slurm", 3, CORE, cpu_share=1)
        if "complete" in wanted:
            bench.against_the_floor("the shipped inventory", 4)
        if "growth" in wanted:
            bench.growth()
    finally:
        bench.close()


if __name__ == "__main__":
    main()

"""Shared storage and clocks on machines with kernels of their own: one serves, one mounts."""

from __future__ import annotations

import base64
import io
import re
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rackmark.shipping import imported_modules
from vm.machine import Bridge, Machine
from vm.site import Site

NETWORK = "10.76.0"
# What the roles install comes with the disks: installing it in a slow machine would show nothing that the lab does not.
PACKAGES = ["nfs-kernel-server", "chrony", "ca-certificates", "libgomp1"]
FOLDER = "/userhome"
AS_USER = "runuser -u rackmark -- "


GROUPS = {
    "slurm_controller": ["server"],
    "slurm_compute": ["client", "server"],
    "nfs_server": ["server"],
    "nfs_clients": ["client"],
}
VARIABLES = {"cluster_shared_storage": "nfs", "cluster_shared_dir": FOLDER}


class Pair(Site):
    def __init__(self, directory: Path, server: Machine, client: Machine) -> None:
        super().__init__(directory, [server, client], GROUPS, VARIABLES)
        self.server = server
        self.client = client

    def with_storage_on(self, server: str) -> None:
        others = [name for name in ("server", "client") if name != server]
        self.write_inventory({**GROUPS, "nfs_server": [server], "nfs_clients": others})


@pytest.fixture(scope="module")
def pair(tmp_path_factory, bare):
    directory = tmp_path_factory.mktemp("pair")
    bridge = Bridge("rmkvm", NETWORK)
    machines = [
        Machine(directory / name, name, bridge.wire(number))
        for number, name in enumerate(("server", "client"), start=2)
    ]
    server, client = machines
    server.build_like(bare, *PACKAGES)
    client.build_like(server)
    try:
        for machine in machines:
            machine.start(memory_mb=1024)
        for machine in machines:
            machine.wait()
        pair = Pair(directory, server, client)
        pair.play("--tags", "base,nfs")
        yield pair
    finally:
        for machine in machines:
            machine.stop()
        bridge.remove()


def exported_to(server: Machine) -> set[str]:
    return set(re.findall(rf"^{FOLDER}\s+([^\s(]+)\(", server.on("cat /var/lib/nfs/etab"), re.MULTILINE))


def mount_options(client: Machine) -> set[str]:
    return set(client.on(f"findmnt --noheadings --output OPTIONS --types nfs4 {FOLDER}").split(","))


def test_the_client_mounts_with_version_4_2_and_waits_for_a_server_that_is_away(pair):
    assert {"vers=4.2", "hard", "timeo=600", "retrans=2", "nosuid", "nodev"} <= mount_options(pair.client)
    source = pair.client.on(f"findmnt --noheadings --output SOURCE --types nfs4 {FOLDER}")
    assert source == f"{pair.server.wire.address}:{FOLDER}"


# One of two workers: takes turns with the other by their histories, then races it for networks.
SEARCHER = """
import sys, time
from pathlib import Path
sys.path.insert(0, "/tmp/searcher")
from rackmark.automl.history import History, append
from rackmark.automl.reservation import reserve
experiment, own = Path(sys.argv[1]), int(sys.argv[2])
history, slowest, seen = History(experiment, 2, reader=own), 0.0, []
def wait_for(turn):
    deadline = time.monotonic() + 60
    while not any(record["worker"] != own and record.get("attempt") == turn for record in seen):
        assert time.monotonic() < deadline, seen
        seen.extend(history.look())
        time.sleep(0.05)
for turn in range(1, 11):
    if own == 0:
        append(experiment, {"event": "began", "worker": 0, "time": time.time(), "attempt": turn, "host": "a"})
        began = time.monotonic()
        wait_for(turn)
        slowest = max(slowest, time.monotonic() - began)
    else:
        wait_for(turn)
        append(experiment, {"event": "began", "worker": 1, "time": time.time(), "attempt": turn, "host": "b"})
won = [number for number in range(1000) if reserve(experiment, f"{number:04x}", own)]
print(slowest, len(history.complaints), *won)
"""


def test_workers_of_a_search_see_each_others_records_and_one_wins_each_network(pair):
    files = {"searcher.py": SEARCHER, **imported_modules({"searcher.py": SEARCHER})}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))
    packed = base64.b64encode(archive.getvalue()).decode()
    experiment = f"{FOLDER}/rackmark/experiment"
    for machine in (pair.server, pair.client):
        machine.on(f"mkdir -p /tmp/searcher && echo {packed} | base64 -d | tar -xz -C /tmp/searcher")
    command = AS_USER + f"python3 /tmp/searcher/searcher.py {experiment}"
    with ThreadPoolExecutor() as pool:
        there = pool.submit(pair.client.on, f"{command} 0")
        here = pool.submit(pair.server.on, f"{command} 1")
        (slowest, *complaints_and_wins), (_, *others) = there.result().split(), here.result().split()
    assert float(slowest) < 3.0, "there and back, before what NFS remembers of a file is asked for again"
    assert complaints_and_wins[0] == others[0] == "0", "lines that could not be read"
    wins = [*complaints_and_wins[1:], *others[1:]]
    assert sorted(map(int, wins)) == list(range(1000))
    pair.server.on(f"rm -r {experiment}")


def test_only_the_inventorys_clients_are_let_in(pair):
    assert exported_to(pair.server) == {pair.client.wire.address}
    options = pair.server.on("cat /var/lib/nfs/etab")
    assert all(word in options for word in (",root_squash,", ",secure,", ",sync,"))
    assert "no_root_squash" not in options


def test_the_user_shares_files_and_the_clients_root_is_nobody(pair):
    pair.client.on(AS_USER + f"sh -c 'echo seen > {FOLDER}/rackmark/mark'")
    assert pair.server.on(f"cat {FOLDER}/rackmark/mark; stat -c %U {FOLDER}/rackmark/mark") == "seen\nrackmark"
    for folder in (FOLDER, f"{FOLDER}/rackmark"):
        assert "denied" in pair.client.on(f"touch {folder}/root 2>&1", check=False)
    assert pair.server.on(f"ls -A {FOLDER}/rackmark") == "mark"  # and of the check nothing is left
    assert pair.client.on(f"runuser -u daemon -- ls {FOLDER}") == "rackmark"


def test_the_server_speaks_version_4_alone(pair):
    assert "-3 +4" in pair.server.on("cat /proc/fs/nfsd/versions")
    assert pair.server.on("cat /proc/fs/nfsd/threads") == "16"
    listening = pair.server.on("ss --no-header --listening --tcp --numeric").splitlines()
    assert {line.split()[3].rpartition(":")[2] for line in listening} == {"22", "2049"}


def test_a_second_run_changes_nothing(pair):
    recap = re.findall(r"changed=(\d+)", pair.play("--tags", "nfs,clocks"))
    assert set(recap) == {"0"}


def test_the_client_follows_the_servers_clock_and_one_that_is_off_is_named(pair):
    assert pair.server.wire.address in pair.client.on("chronyc -n sources")
    deadline = time.monotonic() + 60
    while "^*" not in pair.client.on("chronyc -n sources") and time.monotonic() < deadline:
        time.sleep(2)
    assert pair.server.wire.address in pair.client.on("chronyc -n tracking | grep ^Reference")
    assert abs(float(pair.client.on("chronyc -c tracking").split(",")[4])) < 0.5
    pair.client.on("systemctl stop chrony && date --set '+5 seconds'")
    said = pair.play("--tags", "clocks", "--limit", "client", status=2)
    assert re.search(r"The clock of client is [45]\.\d s ahead of that of server", said), said
    pair.client.on("systemctl start chrony")
    pair.play("--tags", "clocks", "--limit", "client")  # waits until chrony has set it right


def test_a_server_that_is_away_is_said_and_a_stale_handle_is_repaired(pair):
    pair.server.on("systemctl stop nfs-server")
    said = pair.play("--tags", "nfs", "--limit", "client", status=2)  # and does not wait for the server
    assert f"The NFS server {pair.server.wire.address} does not answer at port 2049" in said
    # The folder is made anew, as after a restore from a backup.
    pair.server.on(f"mv {FOLDER} /old && mkdir {FOLDER} && mv /old/rackmark {FOLDER} && systemctl start nfs-server")
    assert "Stale" in pair.client.on(f"timeout 100 ls {FOLDER} 2>&1", check=False)
    pair.play("--tags", "nfs")
    assert pair.client.on(AS_USER + f"cat {FOLDER}/rackmark/mark") == "seen"


def test_the_mount_comes_back_after_a_restart(pair):
    pair.client.restart()
    deadline = time.monotonic() + 120
    while pair.client.on(f"findmnt --types nfs4 {FOLDER}", check=False) == "" and time.monotonic() < deadline:
        time.sleep(2)
    assert pair.client.on(AS_USER + f"cat {FOLDER}/rackmark/mark") == "seen"
    assert {"vers=4.2", "hard", "nosuid", "nodev"} <= mount_options(pair.client)


def test_a_host_that_leaves_is_no_longer_let_in(pair):
    pair.play("--tags", "nfs", "--limit", "server", "--extra-vars", '{"cluster_leaving": ["client"]}')
    assert exported_to(pair.server) == set()
    refused = f"mount -t nfs4 -o retry=0 {pair.server.wire.address}:{FOLDER} /mnt 2>&1"
    assert re.search("denied|not permitted", pair.client.on(refused, check=False))


def test_what_a_host_that_leaves_had_mounted_and_what_an_old_server_exported_is_gone(pair):
    assert FOLDER in pair.client.on("cat /etc/fstab")
    pair.play("--tags", "leftovers", "--limit", "client", "--extra-vars", '{"cluster_leaving": ["client"]}')
    assert pair.client.on(f"findmnt --types nfs4 {FOLDER}", check=False) == ""
    assert FOLDER not in pair.client.on("cat /etc/fstab")
    assert "server" not in pair.client.on("cat /etc/hosts")
    assert pair.server.wire.address not in pair.client.on("chronyc -n sources")
    pair.with_storage_on("client")
    pair.play("--tags", "leftovers", "--limit", "server")
    assert pair.server.on("systemctl is-active nfs-server; systemctl is-enabled nfs-server", check=False) == (
        "inactive\ndisabled"
    )
    assert pair.server.on(f"cat {FOLDER}/rackmark/mark") == "seen"

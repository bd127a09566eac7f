"""Where the ranks of Horovod find each other: rank 0 serves the rendezvous that horovodrun would.

So neither horovodrun is needed, nor SSH between nodes, nor MPI: any launcher will do that starts the processes with
RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Under horovodrun, its own rendezvous is used.
"""

from __future__ import annotations

import os
import socket
import socketserver
import threading
import time
from typing import Mapping

import ranks as environment
from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer
from outcome import TrainingError
from ranks import Ranks

PATIENCE = 600  # seconds for the first rank to come
SECONDS_BETWEEN_TRIES = 0.05


class Rendezvous(RendezvousHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # all ranks come at once, and five may wait by default

    def server_bind(self) -> None:
        """Without asking for a name of the address, which takes long where nobody answers."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


def place() -> Ranks:
    """As a launcher says it, or horovodrun."""
    if _by_horovodrun(os.environ):
        rank, local_rank, size = (int(os.environ[f"HOROVOD_{name}"]) for name in ("RANK", "LOCAL_RANK", "SIZE"))
        return Ranks(rank=rank, local_rank=local_rank, world_size=size)
    return environment.from_environment()


def meet(ranks: Ranks) -> None:
    """Comes back when the rendezvous is there; the rest is for hvd.init()."""
    if _by_horovodrun(os.environ) or "MASTER_ADDR" not in os.environ:
        return
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    for name, value in _of_launcher(os.environ, ranks).items():
        os.environ.setdefault(name, value)
    if ranks.rank == 0:
        _serve(address, port)
    else:
        _wait_for(address, port, ranks)


def _by_horovodrun(environ: Mapping[str, str]) -> bool:
    return "RANK" not in environ and "HOROVOD_RANK" in environ


def _of_launcher(environ: Mapping[str, str], ranks: Ranks) -> dict[str, str]:
    """What Horovod has to be told; a launcher that knows Horovod has said it, and knows the nodes better."""
    return {
        "HOROVOD_RANK": str(ranks.rank),
        "HOROVOD_SIZE": str(ranks.world_size),
        "HOROVOD_LOCAL_RANK": str(ranks.local_rank),
        "HOROVOD_LOCAL_SIZE": environ.get("LOCAL_WORLD_SIZE", str(ranks.world_size)),
        "HOROVOD_CROSS_RANK": environ.get("NODE_RANK", "0"),
        "HOROVOD_CROSS_SIZE": environ.get("RACKMARK_NODES", "1"),
        "HOROVOD_HOSTNAME": socket.gethostname(),
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": environ["MASTER_ADDR"],
        "HOROVOD_GLOO_RENDEZVOUS_PORT": environ["MASTER_PORT"],
        "HOROVOD_GLOO_TIMEOUT_SECONDS": str(PATIENCE),
        **({"HOROVOD_GLOO_IFACE": environ["GLOO_SOCKET_IFNAME"]} if "GLOO_SOCKET_IFNAME" in environ else {}),
    }


def _serve(address: str, port: int) -> None:
    try:
        server = Rendezvous((_own(address), port), RendezvousHandler, verbose=0)
    except OSError as error:
        raise TrainingError(f"the ranks cannot meet at {address}:{port}: {error.strerror}") from error
    server.init([])
    threading.Thread(target=server.serve_forever, daemon=True).start()


def _own(address: str) -> str:
    """Hosts may call themselves 127.0.1.1, where ranks on other nodes would not find them."""
    several_nodes = os.environ.get("HOROVOD_CROSS_SIZE", "1") != "1"
    return "" if several_nodes and socket.gethostbyname(address).startswith("127.") else address


def _wait_for(address: str, port: int, ranks: Ranks) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((address, port), timeout=5).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise TrainingError(
                    f"rank {ranks.rank} of {ranks.world_size} did not find the first one at {address}:{port} within"
                    f" {PATIENCE} s: {error}"
                ) from error
        time.sleep(SECONDS_BETWEEN_TRIES)

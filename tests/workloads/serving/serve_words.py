"""The process of the first node serves until every client has said goodbye; those of the other nodes are clients."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NODES = int(os.environ["WORLD_SIZE"])
NODE = int(os.environ["NODE_RANK"])
ADDRESS = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


def serve(words: int) -> None:
    left = set(range(1, NODES))
    over = threading.Event()

    class Words(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/goodbye/"):
                left.discard(int(self.path[len("/goodbye/") :]))
            text = " ".join(["word"] * words).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            if not left:
                over.set()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("", ADDRESS[1]), Words)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    over.wait()
    server.shutdown()


def ask(path: str) -> int:
    """How many words came."""
    connection = http.client.HTTPConnection(*ADDRESS, timeout=10)
    connection.request("GET", path)
    words = len(connection.getresponse().read().split())
    connection.close()
    return words


def wait_for_server() -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            ask("/")
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def load(seconds: float) -> None:
    wait_for_server()
    began, words, took = time.perf_counter(), 0, []
    while time.perf_counter() - began < seconds:
        begin = time.perf_counter()
        words += ask("/")
        took.append(1000 * (time.perf_counter() - begin))
    spent = time.perf_counter() - began
    ask(f"/goodbye/{NODE}")
    took.sort()
    numbers = {
        "tokens_per_second": words / spent,
        "latency_p50": took[len(took) // 2],
        "latency_p99": took[int(len(took) * 0.99)],
    }
    print("RACKMARK", json.dumps({"event": "stated", "time": time.time(), **numbers}), flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, required=True)
parser.add_argument("--words", type=int, required=True)
asked = parser.parse_args()
if NODE == 0:
    serve(asked.words)
else:
    load(asked.seconds)

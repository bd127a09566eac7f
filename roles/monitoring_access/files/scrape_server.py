"""HTTPS with a password for exporters, as Prometheus' exporter-toolkit does it, with the standard library alone.

Reads the same web.yml, which has to be JSON. It, the certificate and the key may change at any time.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import ctypes
import gzip
import hashlib
import hmac
import json
import logging
import secrets
import socket
import socketserver
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Callable

MAX_CONNECTIONS = 32
CONNECTION_SECONDS = 20.0  # for all of a connection; Prometheus waits 10 by default
CROWDED_SECONDS = 2.0  # the same while others wait for one to end
COMPRESS_BYTES = 1024
LOG = logging.getLogger(__name__)


def serve(listen: str, collect: Callable[[], bytes], web_config: Path | None) -> None:
    """Answers GET /metrics with collect(), which several threads may call at once; never returns.

    `listen` is ADDRESS:PORT. Without `web_config` everyone may read, over plain HTTP.
    """
    try:
        server = Server(listen, collect, Access(web_config) if web_config else None)
    except (OSError, ValueError, KeyError) as error:
        raise SystemExit(
            f"Nothing listens on {listen}, {web_config or 'without access control'}: {error!r}."
        ) from error
    with server:
        server.serve_forever(poll_interval=0.5)


class Access:
    """What web.yml and the files that it names say now."""

    def __init__(self, web_config: Path) -> None:
        self.path = web_config
        self._lock = threading.Lock()
        self._hashing = threading.Lock()
        self._crypt = bcrypt_of_the_c_library()
        self._seen: tuple[tuple[int, int, int], ...] = ()
        self._verified: dict[str, bytes] = {}  # digest of the password that a user has proven to know
        self._secret = secrets.token_bytes(32)
        self._load()

    def context(self) -> ssl.SSLContext:
        with self._lock:
            try:
                if self._stamps() != self._seen:
                    self._load()
            except (OSError, ValueError, KeyError) as error:  # half of a change; the rest comes soon
                LOG.warning("%s and its certificate are used as they were: %s", self.path, error)
            return self._context

    def _load(self) -> None:
        config = json.loads(self.path.read_text())
        tls = config["tls_server_config"]
        self._files = [self.path, Path(tls["cert_file"]), Path(tls["key_file"])]
        seen = self._stamps()  # before they are read: a change meanwhile is seen next time
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(tls["cert_file"], tls["key_file"])
        self._context, self._users, self._seen = context, dict(config["basic_auth_users"]), seen

    def _stamps(self) -> tuple[tuple[int, int, int], ...]:
        states = [path.stat() for path in self._files]
        return tuple((state.st_ino, state.st_mtime_ns, state.st_size) for state in states)

    def allows(self, authorization: str | None) -> bool:
        user, password = credentials(authorization)
        known = self._users.get(user)
        if not known or not password:
            return False
        digest = hmac.new(self._secret, f"{known}\0{password}".encode(), hashlib.sha256).digest()
        if hmac.compare_digest(self._verified.get(user, b""), digest):
            return True
        with self._hashing:  # one at a time: guessing takes no more than one core, and crypt() is not for threads
            if hmac.compare_digest(self._verified.get(user, b""), digest):  # who waited was not the first
                return True
            allowed = self._is_password(password, known)
            if allowed:
                self._verified[user] = digest
        return allowed

    def _is_password(self, password: str, known: str) -> bool:
        if "\0" in password:  # where C's strings end
            return False
        return hmac.compare_digest(self._crypt(password.encode(), known.encode()) or b"", known.encode())


def credentials(authorization: str | None) -> tuple[str, str]:
    """User and password of an Authorization header, empty where it has none."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return user, password


def bcrypt_of_the_c_library() -> Callable[[bytes, bytes], bytes | None]:
    """Python has no bcrypt, and no way to the C library's since 3.13."""
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    crypt.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    return crypt


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """One thread for each connection, and a time for each to end."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, listen: str, collect: Callable[[], bytes], access: Access | None) -> None:
        address, _, port = listen.rpartition(":")
        address = address.strip("[]")
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.collect = collect
        self.access = access
        self.connections: dict[socket.socket, float] = {}  # when each began
        self._ended = threading.Condition()
        super().__init__((address, int(port)), Handler)

    def process_request(self, request: socket.socket, client_address: object) -> None:
        with self._ended:
            while len(self.connections) >= MAX_CONNECTIONS:
                self._end_older_than(CROWDED_SECONDS)
                self._ended.wait(0.1)
            self.connections[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket) -> None:
        with self._ended:
            self.connections.pop(request, None)
            self._ended.notify()
        super().shutdown_request(request)

    def service_actions(self) -> None:
        with self._ended:
            self._end_older_than(CONNECTION_SECONDS)

    def _end_older_than(self, seconds: float) -> None:
        """Their threads, wherever they wait for the client, see that it has gone."""
        latest = time.monotonic() - seconds
        for connection in [connection for connection, began in self.connections.items() if began < latest]:
            with contextlib.suppress(OSError):  # it has ended by itself
                connection.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request: socket.socket, client_address: object) -> None:
        """In the connection's own thread, the handshake among it."""
        request.settimeout(CONNECTION_SECONDS)
        if not self.access:
            Handler(request, client_address, self)
            return
        # The raw socket stays what the server ends: TLS gets another handle of the same connection.
        with self.access.context().wrap_socket(request.dup(), server_side=True) as encrypted:
            Handler(encrypted, client_address, self)

    def handle_error(self, request: socket.socket, client_address: object) -> None:
        known = isinstance(sys.exc_info()[1], OSError)  # it went away, was too slow or does not speak TLS
        LOG.log(logging.DEBUG if known else logging.ERROR, "No answer to %s.", client_address, exc_info=True)


class Handler(BaseHTTPRequestHandler):
    """One request for each connection."""

    server: Server
    server_version = "rackmark"
    sys_version = ""

    def do_GET(self) -> None:
        access = self.server.access
        if access and not access.allows(self.headers.get("Authorization")):
            self._answer(401, b"Unauthorized\n", {"WWW-Authenticate": 'Basic realm="metrics"'})
        elif self.path.partition("?")[0] == "/metrics":
            self._metrics()
        elif self.path == "/":
            page = b'<!doctype html><title>Exporter</title><a href="/metrics">Metrics</a>\n'
            self._answer(200, page, {"Content-Type": "text/html; charset=utf-8"})
        else:
            self._answer(404, b"There is only /metrics.\n", {})

    def _metrics(self) -> None:
        try:
            body = self.server.collect()
        except Exception:  # whatever it is, the next scrape may be well
            LOG.exception("The metrics of this scrape could not be collected.")
            self._answer(500, b"The metrics could not be collected. The service's journal says why.\n", {})
            return
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        if len(body) > COMPRESS_BYTES and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, compresslevel=1)
            headers["Content-Encoding"] = "gzip"
        self._answer(200, body, headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/plain; charset=utf-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing of every scrape; a failure says something of itself."""

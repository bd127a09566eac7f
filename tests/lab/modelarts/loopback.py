"""What both stand-ins need: free ports of loopback, and certificates of an authority of their own."""

from __future__ import annotations

import socket
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rackmark.monitoring.certificates import Openssl


def free_ports(count: int) -> list[int]:
    """Different ones, as they are all taken at the same time; free again when this returns."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in taken:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in taken]


@dataclass(frozen=True)
class Tls:
    authority: Path
    certificate: Path
    key: Path


def certificates(folder: Path, names: list[str]) -> Tls:
    """A server certificate for these names, and the authority that signed it."""
    folder.mkdir(parents=True, exist_ok=True)
    tls = Tls(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    openssl = Openssl(_run)
    authority_key = folder / "ca.key"
    for path in (authority_key, tls.key):
        path.touch(mode=0o600)
        path.write_text(openssl.new_key())
    tls.authority.write_text(openssl.new_authority(authority_key.read_text(), "Rackmark's stand-ins"))
    request = openssl.request(tls.key.read_text(), names[0])
    tls.certificate.write_text(openssl.sign(request, names, tls.authority, authority_key))
    return tls


def _run(words: list[str], text: str) -> tuple[int, str, str]:
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr

"""The cluster's certificate authority for monitoring, and the certificates of hosts, made with openssl."""

from __future__ import annotations

import ipaddress
import re
import secrets
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence, Tuple

from ..host_names import is_address

DAY = 86400
AUTHORITY_DAYS = 3650
HOST_DAYS = 825
RENEW_DAYS = 60
_LONGEST_NAME = 64  # of a common name; the names that count are alternative ones

# Runs a command without a shell, with the text on its standard input: its exit status, output and errors.
Run = Callable[[Sequence[str], str], Tuple[int, str, str]]

_AUTHORITY = """[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
CN = {name}
[extensions]
basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
"""
_REQUEST = """[req]
prompt = no
distinguished_name = name
[name]
CN = {name}
"""
_HOST = """basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {names}
"""


@dataclass(frozen=True)
class Certificate:
    names: frozenset[str]
    expires: int
    """Seconds since 1970."""
    public_key: str


class Openssl:
    """Nothing secret is in its arguments: keys are in files or come from standard input."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, *words: str, text: str = "") -> str:
        status, output, errors = self._run(["openssl", *words], text)
        if status != 0:
            raise ValueError(f"'openssl {words[0]}' failed: {errors.strip() or f'exit status {status}'}")
        return output

    def new_key(self) -> str:
        return self("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")

    def public_key(self, private: str) -> str:
        return self("pkey", "-pubout", text=private)

    def new_authority(self, key: str, name: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            config, key_file = Path(folder, "config"), Path(folder, "key")
            config.write_text(_AUTHORITY.format(name=name[:_LONGEST_NAME]))
            key_file.write_text(key)  # in a folder that only this user can read
            days = ["-days", str(AUTHORITY_DAYS)]
            return self("req", "-x509", "-new", "-sha256", *days, "-config", str(config), "-key", str(key_file))

    def request(self, key: str, name: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            config, key_file = Path(folder, "config"), Path(folder, "key")
            config.write_text(_REQUEST.format(name=name[:_LONGEST_NAME]))
            key_file.write_text(key)
            return self("req", "-new", "-sha256", "-config", str(config), "-key", str(key_file))

    def sign(self, request: str, names: Sequence[str], authority: Path, key: Path) -> str:
        """The names are those given, whatever the request says: a host cannot ask for another's."""
        with tempfile.TemporaryDirectory() as folder:
            extensions = Path(folder, "extensions")
            extensions.write_text(_HOST.format(names=",".join(map(_alternative_name, names))))
            signer = ["-CA", str(authority), "-CAkey", str(key), "-set_serial", f"0x{secrets.randbits(127) | 1:x}"]
            rest = ["-days", str(HOST_DAYS), "-sha256", "-extfile", str(extensions)]
            return self("x509", "-req", *signer, *rest, text=request)

    def read(self, certificate: str) -> Certificate:
        shown = self("x509", "-noout", "-enddate", "-pubkey", "-ext", "subjectAltName", text=certificate)
        return parse(shown)

    def is_signed_by(self, certificate: str, authority: str) -> bool:
        """For the purpose of a server; the time is looked at by itself, and two hosts' clocks may differ by seconds."""
        with tempfile.TemporaryDirectory() as folder:
            trusted = Path(folder, "ca.pem")
            trusted.write_text(authority)
            words = ["openssl", "verify", "-no-CApath", "-no_check_time", "-purpose", "sslserver"]
            status, _, _ = self._run([*words, "-CAfile", str(trusted)], certificate)
            return status == 0


def parse(shown: str) -> Certificate:
    """From what `openssl x509` prints."""
    end = re.search(r"^notAfter=(.+)$", shown, re.MULTILINE)
    key = re.search(r"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----\n", shown, re.DOTALL)
    if not end or not key:
        raise ValueError(f"openssl says nothing of a certificate's end or key: {shown!r}")
    names = [*re.findall(r"DNS:([^,\s]+)", shown), *map(_plain, re.findall(r"IP Address:([0-9A-Fa-f.:]+)", shown))]
    return Certificate(frozenset(names), int(ssl.cert_time_to_seconds(end.group(1))), key.group())


def why_renewed(
    openssl: Openssl, certificate: str | None, key: str | None, authority: str, names: Sequence[str], now: float
) -> str:
    """Why a host needs another certificate; empty when it does not."""
    if not certificate or not key:
        return "there is none yet"
    try:
        known = openssl.read(certificate)
        of_key = openssl.public_key(key)
    except ValueError:
        return "it or its key cannot be read"
    if known.public_key != of_key:
        return "it does not belong to its key"
    if known.names != {_plain(name) for name in names}:
        return f"it is for {', '.join(sorted(known.names))}"
    if known.expires - now < RENEW_DAYS * DAY:
        return f"fewer than {RENEW_DAYS} days of it are left"
    return "" if openssl.is_signed_by(certificate, authority) else "another CA signed it"


def authority_serves(openssl: Openssl, certificate: str | None, key: str | None, now: float) -> bool:
    """A CA that ends before the certificates it would sign is replaced in time."""
    if not certificate or not key:
        return False
    try:
        known = openssl.read(certificate)
        return known.public_key == openssl.public_key(key) and known.expires - now > HOST_DAYS * DAY
    except ValueError:
        return False


def expiry_metric(expires: int) -> str:
    name = "rackmark_certificate_expiry_timestamp_seconds"
    return f"# HELP {name} When the certificate of this host's exporters ends.\n# TYPE {name} gauge\n{name} {expires}\n"


def _alternative_name(name: str) -> str:
    return f"{'IP' if is_address(name) else 'DNS'}:{name}"


def _plain(name: str) -> str:
    """One spelling for all of an address."""
    return str(ipaddress.ip_address(name)) if is_address(name) else name

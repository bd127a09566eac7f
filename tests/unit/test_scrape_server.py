"""The HTTPS server of our exporters, asked over loopback by clients good and bad."""

from __future__ import annotations

import base64
import contextlib
import gzip
import importlib.util
import json
import os
import socket
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest
from rackmark.monitoring import passwords
from rackmark.monitoring.certificates import Openssl

PROGRAM = Path(__file__).parents[2] / "roles/monitoring_access/files/scrape_server.py"
PASSWORD = "correct-horse-battery"
PAGE = b"up 1\n" * 1000
USUAL = {"Authorization": "Basic " + base64.b64encode(f"prometheus:{PASSWORD}".encode()).decode()}

spec = importlib.util.spec_from_file_location("scrape_server", PROGRAM)
scrape_server = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scrape_server)


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Credentials:
    """Certificate, key and web.yml of an exporter."""

    def __init__(self, folder: Path) -> None:
        self.openssl = Openssl(run)
        self.ca, self.ca_key = folder / "ca.pem", folder / "ca.key"
        self.certificate, self.key, self.web = folder / "certificate.pem", folder / "key.pem", folder / "web.yml"
        self.ca_key.write_text(self.openssl.new_key())
        self.ca.write_text(self.openssl.new_authority(self.ca_key.read_text(), "test"))
        self.renew()
        self.allow(PASSWORD)

    def renew(self) -> None:
        key = self.openssl.new_key()
        request = self.openssl.request(key, "node1")
        certificate = self.openssl.sign(request, ["localhost", "127.0.0.1"], self.ca, self.ca_key)
        for path, text in ((self.key, key), (self.certificate, certificate)):
            beside = path.with_suffix(".new")
            beside.write_text(text)
            beside.replace(path)

    def allow(self, password: str) -> None:
        tls = {"cert_file": str(self.certificate), "key_file": str(self.key), "min_version": "TLS12"}
        config = {"tls_server_config": tls, "basic_auth_users": {"prometheus": passwords.hashed(password, cost=4)}}
        self.web.write_text(json.dumps(config))

    def client(self, **versions: ssl.TLSVersion) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca))
        for name, version in versions.items():
            setattr(context, name, version)
        return context


class Exporter:
    def __init__(self, access: scrape_server.Access | None) -> None:
        self.pages = [PAGE]
        self.server = scrape_server.Server("127.0.0.1:0", lambda: self.pages[-1], access)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def ask(self, context: ssl.SSLContext, path: str = "/metrics", headers: dict[str, str] = USUAL):
        connection = HTTPSConnection("127.0.0.1", self.port, context=context, timeout=10)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def status(self, context: ssl.SSLContext, *arguments, **named) -> int:
        return self.ask(context, *arguments, **named)[0]


@pytest.fixture(scope="module")
def credentials(tmp_path_factory):
    return Credentials(tmp_path_factory.mktemp("monitoring"))


@pytest.fixture
def client(credentials):
    return credentials.client()


@pytest.fixture
def exporter(credentials):
    exporter = Exporter(scrape_server.Access(credentials.web))
    yield exporter
    exporter.server.shutdown()
    exporter.server.server_close()


def basic(text: bytes) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text).decode()}


def test_who_knows_the_password_reads_the_metrics(exporter, client):
    status, body, headers = exporter.ask(client)
    assert (status, body) == (200, PAGE)
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "Python" not in headers["Server"]
    assert exporter.ask(client, "/metrics?collect=all")[0] == 200
    assert b'href="/metrics"' in exporter.ask(client, "/")[1]
    assert exporter.status(client, "/etc/passwd") == 404


def test_a_long_answer_is_compressed_for_who_understands_that(exporter, client):
    _, body, headers = exporter.ask(client, headers={**USUAL, "Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert len(body) < len(PAGE) / 10
    assert gzip.decompress(body) == PAGE


@pytest.mark.parametrize("path", ["/metrics", "/", "/nothing"])
def test_who_gives_no_password_learns_nothing(exporter, client, path):
    status, body, headers = exporter.ask(client, path, {})
    assert (status, body) == (401, b"Unauthorized\n")
    assert headers["WWW-Authenticate"].startswith("Basic")


@pytest.mark.parametrize(
    "headers",
    [
        basic(b"prometheus:wrong"),
        basic(b"prometheus:"),
        basic(b"prometheus"),
        basic(b"root:" + PASSWORD.encode()),
        basic(f"prometheus:{PASSWORD}\0".encode()),
        basic(f"prometheus:{PASSWORD} ".encode()),
        basic(b"\xff\xfe:\xff"),
        basic(b""),
        {"Authorization": ""},
        {"Authorization": "Basic"},
        {"Authorization": "Basic %%%"},
        {"Authorization": "Basic cHJvbWV0aGV1cw"},
        {"Authorization": "Bearer " + PASSWORD},
        {"Authorization": "Basic \xe9\xe9"},
        {"Authorization": "Basic " + "A" * 60000},
    ],
    ids=lambda headers: repr(headers["Authorization"])[:40],
)
def test_wrong_and_malformed_credentials_are_refused(exporter, client, headers):
    assert exporter.status(client, headers=headers) == 401
    assert exporter.status(client) == 200


def test_a_wrong_password_after_a_right_one_is_refused(exporter, client):
    assert exporter.status(client) == 200
    assert exporter.status(client, headers=basic(b"prometheus:wrong")) == 401


def test_a_password_once_proven_is_not_hashed_again(exporter, client):
    hashed = []
    crypt = exporter.server.access._crypt
    exporter.server.access._crypt = lambda *words: hashed.append(words) or crypt(*words)
    assert [exporter.status(client) for _ in range(3)] == [200, 200, 200]
    assert len(hashed) == 1


def test_plain_http_is_refused(exporter, client):
    connection = HTTPConnection("127.0.0.1", exporter.port, timeout=10)
    with pytest.raises(OSError):
        connection.request("GET", "/metrics", headers=USUAL)
        connection.getresponse()
    connection.close()
    assert exporter.status(client) == 200


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_tls_is_refused(exporter, credentials):
    old = credentials.client(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        exporter.ask(old)
    assert exporter.status(credentials.client(maximum_version=ssl.TLSVersion.TLSv1_2)) == 200


def test_clients_that_hang_block_nobody_and_are_ended(exporter, client, monkeypatch):
    monkeypatch.setattr(scrape_server, "CROWDED_SECONDS", 0.1)
    silent = [socket.create_connection(("127.0.0.1", exporter.port)) for _ in range(scrape_server.MAX_CONNECTIONS)]
    assert exporter.status(client) == 200
    assert all(has_ended(connection) for connection in silent)


def has_ended(connection: socket.socket) -> bool:
    connection.settimeout(60)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_client_that_stops_in_the_middle_of_its_request_is_ended(exporter, client, monkeypatch):
    monkeypatch.setattr(scrape_server, "CONNECTION_SECONDS", 0.2)
    with client.wrap_socket(
        socket.create_connection(("127.0.0.1", exporter.port)), server_hostname="127.0.0.1"
    ) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        slow.settimeout(60)
        with contextlib.suppress(ConnectionError, ssl.SSLError):  # how an end of it may look, and no timeout
            while slow.recv(100):
                slow.sendall(b"X-More: y\r\n")


def test_many_clients_at_once_are_all_answered(exporter, credentials):
    context = credentials.client()
    with ThreadPoolExecutor(48) as pool:
        assert set(pool.map(lambda _: exporter.status(context), range(96))) == {200}


def test_a_renewed_certificate_is_shown_without_a_restart(exporter, credentials, client):
    def shown() -> bytes:
        with client.wrap_socket(
            socket.create_connection(("127.0.0.1", exporter.port)), server_hostname="localhost"
        ) as tls:
            return tls.getpeercert(binary_form=True)

    before = shown()
    credentials.renew()
    assert shown() != before
    assert shown() == ssl.PEM_cert_to_DER_cert(credentials.certificate.read_text())


def test_half_of_a_change_leaves_the_old_certificate_in_use(exporter, credentials, client):
    whole = credentials.web.read_text(), credentials.key.read_text()
    credentials.key.write_text(credentials.openssl.new_key())
    assert exporter.status(client) == 200
    credentials.web.write_text(whole[0][:40])
    assert exporter.status(client) == 200
    credentials.web.unlink()
    assert exporter.status(client) == 200
    credentials.web.write_text(whole[0])
    credentials.key.write_text(whole[1])
    assert exporter.status(client) == 200


def test_another_password_holds_at_once(exporter, credentials, client):
    assert exporter.status(client) == 200
    credentials.allow("another-password")
    assert exporter.status(client) == 401
    assert exporter.status(client, headers=basic(b"prometheus:another-password")) == 200
    credentials.allow(PASSWORD)
    assert exporter.status(client) == 200


def test_metrics_that_cannot_be_collected_are_an_error_that_says_nothing_secret(exporter, client, caplog):
    exporter.server.collect = lambda: open(f"/nowhere/{PASSWORD}").read()  # noqa: PTH123, SIM115
    status, body, _ = exporter.ask(client)
    assert status == 500
    assert PASSWORD.encode() not in body
    assert b"journal" in body
    assert "could not be collected" in caplog.text
    exporter.server.collect = lambda: PAGE
    assert exporter.status(client) == 200


def test_without_access_control_everyone_reads_over_plain_http():
    exporter = Exporter(None)
    connection = HTTPConnection("127.0.0.1", exporter.port, timeout=10)
    connection.request("GET", "/metrics")
    assert connection.getresponse().read() == PAGE
    connection.close()
    exporter.server.shutdown()
    exporter.server.server_close()


def test_a_web_config_that_cannot_be_read_ends_the_service_with_a_sentence(tmp_path):
    code = (
        f"import scrape_server, pathlib; scrape_server.serve('127.0.0.1:0', bytes, pathlib.Path('{tmp_path}/web.yml'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [os.sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 1
    assert f"Nothing listens on 127.0.0.1:0, {tmp_path}/web.yml" in done.stderr
    assert "Traceback" not in done.stderr

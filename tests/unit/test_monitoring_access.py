"""The password of exporters and their certificates, made with the real libcrypt and openssl."""

from __future__ import annotations

import datetime
import subprocess
import time
from pathlib import Path

import pytest
from rackmark import password_rules
from rackmark.monitoring import certificates, passwords
from rackmark.monitoring.certificates import DAY, Openssl, authority_serves, why_renewed

NAMES = ["node1", "192.0.2.11", "2001:db8::1", "localhost"]


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Authority:
    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        self.openssl = Openssl(run)
        self.certificate, self.key = folder / "ca.pem", folder / "ca.key"
        self.key.write_text(self.openssl.new_key())
        self.certificate.write_text(self.openssl.new_authority(self.key.read_text(), name))

    @property
    def text(self) -> str:
        return self.certificate.read_text()

    def host(self, names=NAMES, asked_for: str = "node1") -> tuple[str, str]:
        """Certificate and key of a host."""
        key = self.openssl.new_key()
        return self.openssl.sign(self.openssl.request(key, asked_for), names, self.certificate, self.key), key


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("a") / "ca", "Monitoring of test")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("b") / "ca", "Monitoring of test")


@pytest.fixture(scope="module")
def host(authority):
    return authority.host()


def reason(authority, host, names=NAMES, days=0.0):
    return why_renewed(authority.openssl, *host, authority.text, names, time.time() + days * DAY)


def test_a_good_certificate_is_kept(authority, host):
    assert reason(authority, host) == ""
    assert reason(authority, host, [*NAMES[::-1]]) == ""
    assert reason(authority, host, ["node1", "192.0.2.11", "2001:DB8:0::1", "localhost"]) == ""


def test_a_certificate_is_good_for_825_days_and_renewed_60_before(authority, host):
    expires = authority.openssl.read(host[0]).expires
    assert 825 * DAY - 60 < expires - time.time() < 825 * DAY + 60
    assert reason(authority, host, days=764) == ""
    assert "60 days" in reason(authority, host, days=766)


def test_a_certificate_is_renewed_when_it_is_not_the_hosts(authority, other, host):
    assert reason(authority, (None, None)) == "there is none yet"
    assert reason(authority, (host[0], None)) == "there is none yet"
    assert reason(authority, ("garbage", host[1])) == "it or its key cannot be read"
    assert reason(authority, (host[0], "garbage")) == "it or its key cannot be read"
    assert reason(authority, (host[0], authority.openssl.new_key())) == "it does not belong to its key"
    assert "192.0.2.11" in reason(authority, host, ["node1", "192.0.2.12", "localhost"])
    # The same name, another key: that is what a replaced authority looks like.
    assert reason(other, host) == "another CA signed it"


def test_an_authority_is_not_taken_for_a_host(authority):
    openssl = authority.openssl
    known = openssl.read(authority.text)
    assert not known.names
    assert reason(authority, (authority.text, authority.key.read_text()))


def test_a_host_gets_its_own_names_whatever_it_asks_for(authority):
    certificate, _ = authority.host(["node2", "192.0.2.12"], asked_for="head")
    assert authority.openssl.read(certificate).names == {"node2", "192.0.2.12"}


def test_a_certificate_cannot_sign_others(authority, host, tmp_path):
    certificate, key = tmp_path / "ca.pem", tmp_path / "ca.key"
    certificate.write_text(host[0])
    key.write_text(host[1])
    forged = authority.openssl.sign(authority.openssl.request(host[1], "head"), ["head"], certificate, key)
    chain = certificate.read_text() + authority.text
    assert not authority.openssl.is_signed_by(forged, chain)


def test_an_authority_is_replaced_before_it_ends_earlier_than_what_it_signs(authority, other):
    key, now = authority.key.read_text(), time.time()
    assert authority_serves(authority.openssl, authority.text, key, now)
    assert authority_serves(authority.openssl, authority.text, key, now + (3650 - 826) * DAY)
    assert not authority_serves(authority.openssl, authority.text, key, now + (3650 - 824) * DAY)
    assert not authority_serves(authority.openssl, authority.text, other.key.read_text(), now)
    assert not authority_serves(authority.openssl, authority.text, None, now)
    assert not authority_serves(authority.openssl, "garbage", key, now)


def test_what_openssl_prints_is_understood():
    shown = (
        "notAfter=Feb  1 00:10:13 2029 GMT\n-----BEGIN PUBLIC KEY-----\nMFk=\n-----END PUBLIC KEY-----\n"
        "X509v3 Subject Alternative Name: \n    DNS:node1, IP Address:192.0.2.11, IP Address:2001:DB8:0:0:0:0:0:1\n"
    )
    known = certificates.parse(shown)
    assert known.names == {"node1", "192.0.2.11", "2001:db8::1"}
    assert known.expires == datetime.datetime(2029, 2, 1, 0, 10, 13, tzinfo=datetime.timezone.utc).timestamp()
    with pytest.raises(ValueError, match="says nothing"):
        certificates.parse("")


def test_a_failure_of_openssl_names_it(authority):
    with pytest.raises(ValueError, match="'openssl x509' failed"):
        authority.openssl.read("garbage")


def test_no_key_is_an_argument_of_a_program(tmp_path):
    words = []

    def watched(command, text):
        words.extend(command)
        return run(command, text)

    openssl = Openssl(watched)
    key = openssl.new_key()
    certificate = openssl.new_authority(key, "test")
    openssl.request(key, "node1")
    openssl.public_key(key)
    assert openssl.is_signed_by(certificate, certificate) is False  # it is no server's
    assert not any("PRIVATE" in word or key.splitlines()[1] in word for word in words)


def test_the_metric_is_when_the_certificate_ends():
    assert certificates.expiry_metric(1866327013).splitlines()[-1] == (
        "rackmark_certificate_expiry_timestamp_seconds 1866327013"
    )


def test_a_password_matches_its_own_hash_only():
    password = passwords.new_password()
    known = passwords.hashed(password)
    assert known.startswith("$2b$10$")
    assert len(known) == 60
    assert passwords.matches(password, known)
    assert not passwords.matches(password + "x", known)
    assert not passwords.matches(password, passwords.hashed(password, cost=4))
    assert not passwords.matches(password, "garbage")
    assert password_rules.MONITORING.accepts(password)
    assert passwords.new_password() != password


def test_a_known_bcrypt_hash_is_matched(monkeypatch):
    """John the Ripper's test vector, in the form that this library writes."""
    monkeypatch.setattr(passwords, "COST", "05")
    assert passwords.matches("U*U", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")


def test_a_host_without_bcrypt_says_so(monkeypatch):
    monkeypatch.setattr(passwords, "LIBRARY", "libnothing.so.9")
    with pytest.raises(ValueError, match="install libcrypt1"):
        passwords.hashed("correct-horse-battery")

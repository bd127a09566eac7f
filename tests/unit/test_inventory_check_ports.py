"""Ports of hosts are asked for SSH before anybody logs in."""

from __future__ import annotations

import socket
import threading

import pytest
from rackmark.inventory_check import probe


@pytest.fixture
def server():
    """Listens on a loopback port and greets with what it is given."""
    listeners = []

    def start(greeting):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def greet():
            while True:
                try:
                    caller, _ = listener.accept()
                except OSError:
                    return
                with caller:
                    caller.sendall(greeting)

        threading.Thread(target=greet, daemon=True).start()
        return probe.Target("127.0.0.1", listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.close()


def test_ports_are_asked_for_ssh(server):
    free = socket.create_server(("127.0.0.1", 0))
    closed = probe.Target("127.0.0.1", free.getsockname()[1])
    free.close()
    targets = {
        "right": server(b"SSH-2.0-OpenSSH_9.2\r\n"),
        "talks-first": server(b"Welcome\r\nSSH-2.0-OpenSSH_9.2\r\n"),
        "web": server(b"HTTP/1.1 400 Bad Request\r\n"),
        "closed": closed,
        "behind": probe.Target("192.0.2.1", 22, "-o ProxyJump=bastion"),
    }
    answers = probe.ask(targets)
    assert answers.asked == 4
    assert dict(answers.silent) == {
        "does not answer (the port is another service's)": ["web"],
        "does not answer (connection refused)": ["closed"],
    }


def test_a_jump_host_in_the_settings_of_ssh_is_seen(tmp_path):
    (tmp_path / "config").write_text("Host 127.0.0.1\n  ProxyJump bastion\n")
    free = socket.create_server(("127.0.0.1", 0))
    target = probe.Target("127.0.0.1", free.getsockname()[1], f"-F {tmp_path / 'config'}")
    free.close()
    assert probe.ask({"behind": target}).asked == 0


def test_hosts_are_asked_side_by_side(monkeypatch):
    """None of them answers before all have been asked."""
    monkeypatch.setattr(probe, "SECONDS", 30)
    with socket.create_server(("0.0.0.0", 0), backlog=200) as listener:

        def greet():
            callers = [listener.accept()[0] for _ in range(100)]
            for caller in callers:
                with caller:
                    caller.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        threading.Thread(target=greet, daemon=True).start()
        port = listener.getsockname()[1]
        answers = probe.ask({f"node{number}": probe.Target(f"127.0.0.{number}", port) for number in range(1, 101)})
    assert (answers.asked, dict(answers.silent)) == (100, {})


def test_a_silent_host_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(probe, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:  # nobody is let in, nothing is said
        answers = probe.ask({"node1": probe.Target("127.0.0.1", listener.getsockname()[1])})
    assert dict(answers.silent) == {"does not answer within 0 s": ["node1"]}


def test_a_port_that_hangs_up_at_once_is_no_ssh_server(server):
    assert list(probe.ask({"node1": server(b"")}).silent.values()) == [["node1"]]

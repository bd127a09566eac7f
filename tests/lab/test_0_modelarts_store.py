"""The object store by its vendor's client, against OpenStack Swift on loopback, which verifies every signature."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from lab.modelarts.running import TESTS, stand_in
from rackmark.modelarts.client import Client
from rackmark.modelarts.errors import CloudError, StoreError
from rackmark.modelarts.store import Store
from rackmark.modelarts.upload import files_of, upload

SMALL, PARTS = 200, 6
# Uploads as a task of a playbook does; it, or what started it, is killed as soon as so many bytes are there.
KILLED = """
import os, signal, sys
from contextlib import suppress
from pathlib import Path
from rackmark.modelarts.credentials import credentials
from rackmark.modelarts import upload as uploading
from rackmark.modelarts.store import Store
from rackmark.modelarts.upload import files_of, upload
uploading.THREADS = 2  # fewer than parts, so that some have not begun
endpoint, ca_file, folder, checkpoints, share, killed = sys.argv[1:]
if killed == "its parent" and os.fork():
    signal.pause()
victim = os.getpid() if killed == "itself" else os.getppid()
keys = credentials(os.environ, {})
files = files_of(Path(folder), "train.py", keys)

def progress(now):
    if now.bytes_done >= float(share) * now.bytes:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)

upload(Store(endpoint, keys, ca_file=ca_file), Path(folder), "bench", "rackmark/killed/code/", files,
       progress=progress, checkpoints=Path(checkpoints))
"""


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with stand_in(tmp_path_factory.mktemp("stand_in") / "servers") as running:
        yield running


@pytest.fixture
def code(tmp_path):
    folder = tmp_path / "code"
    (folder / "small ü").mkdir(parents=True)
    for number in range(SMALL):
        (folder / f"small ü/{number}.txt").write_bytes(os.urandom(100_000))
    (folder / "large").write_bytes(os.urandom((PARTS * 9 - 4) << 20))
    (folder / "train.py").write_text("print('train')\n")
    (folder / "empty").touch()
    return folder


def put(servers, since=0):
    """What was sent and taken: keys, and the numbers of parts."""
    lines = [line for line in servers.store_requests()[since:] if line.startswith("PUT ") and line.endswith(" 200")]
    return [re.sub(r"&?uploadId=\w+&?|\?$", "", line.split(" ", 1)[1][:-4]) for line in lines]


def settled(servers):
    """How many requests there were, once the store has taken what was on its way."""
    before, now = -1, 0
    while before != now:
        time.sleep(1)
        before, now = now, len(servers.store_requests())
    return now


def test_what_is_uploaded_comes_back_and_is_not_sent_again(servers, code, tmp_path, monkeypatch):
    monkeypatch.setattr("rackmark.modelarts.store._PAGE", 50)  # of a listing, which takes several then
    store, files = servers.store(), files_of(code, "train.py", servers.credentials)
    seen = []
    given = {"progress": seen.append, "checkpoints": tmp_path / "checkpoints"}
    first = upload(store, code, servers.bucket, "rackmark/a/code/", files, **given)
    size = sum((code / path).stat().st_size for path in files)
    assert (first.sent_files, first.sent_bytes, first.bytes) == (SMALL + 3, size, size)
    assert (seen[-1].files_done, seen[-1].bytes_done) == (SMALL + 3, size)
    since = len(servers.store_requests())
    (code / "train.py").write_text("print('other')\n")
    again = upload(store, code, servers.bucket, "rackmark/a/code/", files, **given)
    assert (again.sent_files, again.sent_bytes) == (1, 15)
    assert put(servers, since) == ["/bench/rackmark/a/code/train.py"]
    assert list((tmp_path / "checkpoints").iterdir()) == []

    back = tmp_path / "back"
    assert len(store.fetch(servers.bucket, "rackmark/a/", back)) == SMALL + 3
    assert subprocess.run(["diff", "-r", code, back / "code"]).returncode == 0
    assert store.fetch(servers.bucket, "rackmark/a/", back) == []
    assert store.read(servers.bucket, "rackmark/a/code/train.py", limit=8) == "other')\n"
    assert store.read(servers.bucket, "rackmark/a/code/empty") == ""


@pytest.mark.parametrize("killed", ["itself", "its parent"])
def test_an_upload_that_was_killed_goes_on_where_it_was(servers, code, tmp_path, killed):
    servers.store().delete(servers.bucket, "rackmark/killed/")
    arguments = [servers.obs_endpoint, servers.ca_file, str(code), str(tmp_path / "checkpoints")]
    keys = {"HUAWEICLOUD_SDK_AK": servers.access_key, "HUAWEICLOUD_SDK_SK": servers.secret_key}
    environment = {**os.environ, **keys, "PYTHONPATH": str(TESTS.parent / "module_utils")}
    since = len(servers.store_requests())
    first_try = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments, "0.6", killed], env=environment, stderr=subprocess.DEVNULL
    )
    assert first_try.returncode == -signal.SIGKILL
    lines = settled(servers)
    first = put(servers, since)
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    assert servers.secret_key not in checkpoint.read_text()

    done = subprocess.run([sys.executable, "-c", KILLED, *arguments, "2", "itself"], env=environment)
    assert done.returncode == 0
    second = put(servers, lines)
    assert first and second and not set(first) & set(second)
    assert len(first) + len(second) == SMALL + 2 + PARTS
    store = servers.store()
    store.fetch(servers.bucket, "rackmark/killed/code/", tmp_path / "back")
    assert subprocess.run(["diff", "-r", code, tmp_path / "back"]).returncode == 0


def test_deleting_a_run_leaves_the_others_and_nothing_half_sent(servers, tmp_path):
    store = servers.store()
    (tmp_path / "train.py").write_text("x")
    for run in ("run1", "run10"):
        upload(
            *(store, tmp_path, servers.bucket, f"rackmark/{run}/", [Path("train.py")]),
            progress=lambda _: None,
            checkpoints=tmp_path / "checkpoints",
        )
    number = store.begin_parts(servers.bucket, "rackmark/run1/large")
    assert store.delete(servers.bucket, "rackmark/run1/") == 1
    assert store.parts(servers.bucket, "rackmark/run1/large", number) is None
    assert list(store.listing(servers.bucket, "rackmark/run1")) == ["rackmark/run10/train.py"]
    for prefix in ("", "/", "rackmark/run1"):
        with pytest.raises(StoreError, match="nothing was deleted"):
            store.delete(servers.bucket, prefix)


def test_what_arrives_with_another_checksum_is_refused_by_the_store(servers, tmp_path):
    store, path = servers.store(), tmp_path / "file"
    path.write_bytes(b"12")
    number = store.begin_parts(servers.bucket, "damaged/parts")
    for send in (
        lambda: store.put(servers.bucket, "damaged/one", path, 2, bytes(16)),
        lambda: store.put_part(servers.bucket, "damaged/parts", number, 1, path, 0, 2, bytes(16)),
    ):
        with pytest.raises(StoreError, match="did not arrive as it was read"):
            send()
    assert store.listing(servers.bucket, "damaged/") == store.parts(servers.bucket, "damaged/parts", number) == {}


def test_connections_that_the_store_has_ended_meanwhile_do_no_harm(servers, code, tmp_path, monkeypatch):
    store = servers.store()
    files = files_of(code, "train.py", servers.credentials)[-50:]
    upload(store, code, servers.bucket, "idle/", files, progress=lambda _: None, checkpoints=tmp_path / "checkpoints")
    kept = list(store._client.connHolder["connSet"].queue)
    assert len(kept) > 4  # as often as the client tries
    for connection in kept:
        connection.sock.shutdown(socket.SHUT_RDWR)
    monkeypatch.setattr("rackmark.modelarts.store.SECONDS_KEPT", 0)
    assert len(store.listing(servers.bucket, "idle/")) == 50


@pytest.mark.parametrize("signature", ["v2", "v4", "obs"])
def test_the_signatures_of_other_stores(servers, signature):
    servers.store(signature=signature, region=servers.region).check(servers.bucket)


def test_a_refusal_is_one_sentence_without_keys(servers):
    wrong = replace(servers.credentials, secret_key="wrong-secret-of-nobody")
    refused = {
        "does not accept the signature": lambda: Store(servers.obs_endpoint, wrong, ca_file=servers.ca_file).check(
            servers.bucket
        ),
        "There is no bucket 'nowhere'": lambda: servers.store().check("nowhere"),
        "There is no 'nothing' in the bucket": lambda: servers.store().read(servers.bucket, "nothing"),
        "The certificate of https://127.0.0.1": lambda: servers.store(ca_file="").check(servers.bucket),
        "cannot be reached (Connection refused)": lambda: Store("https://127.0.0.1:1", wrong).check("bench"),
    }
    for words, asked in refused.items():
        with pytest.raises(StoreError) as said:
            asked()
        assert words in str(said.value) and "\n" not in str(said.value)
        assert servers.secret_key not in str(said.value) and wrong.secret_key not in str(said.value)


def test_a_certificate_of_another_name_is_refused_by_both_clients(tmp_path):
    with stand_in(tmp_path / "servers", "--names", "other.example") as servers:
        before = servers.store_requests()
        with pytest.raises(StoreError, match=r"certificate .* is not trusted: .*127\.0\.0\.1"):
            servers.store().check(servers.bucket)
        client = Client(servers.modelarts_endpoint, servers.project_id, servers.credentials, ca_file=servers.ca_file)
        with pytest.raises(CloudError, match="certificate"):
            client.flavors()
        assert (servers.store_requests(), servers.requests()) == (before, [])

"""Keys of the cloud, what of a folder is uploaded, and objects that come back as files."""

from __future__ import annotations

import hashlib
import http.client
import os
import ssl
from types import SimpleNamespace

import pytest
from rackmark.modelarts.answers import refused, unreached
from rackmark.modelarts.credentials import Credentials, credentials
from rackmark.modelarts.endpoints import wrong_endpoint
from rackmark.modelarts.errors import CredentialsError, StoreError, UploadError
from rackmark.modelarts.fetch import Remote, fetch
from rackmark.modelarts.threads import for_each
from rackmark.modelarts.upload import files_of

ACCESS, SECRET = "AKXXXXXXXXXXXXXXXXXX", "sEcReTsEcReTsEcReTsEcReTsEcReT"
KEYS = Credentials(ACCESS, SECRET)
EXPORTED = {"HUAWEICLOUD_SDK_AK": ACCESS, "HUAWEICLOUD_SDK_SK": SECRET}


def test_keys_of_the_environment_and_of_a_vault_are_not_mixed():
    assert credentials(EXPORTED, {}) == KEYS
    temporary = credentials({**EXPORTED, "HUAWEICLOUD_SDK_SECURITY_TOKEN": "token"}, {})
    assert temporary.security_token == "token"
    vault = {"modelarts_access_key": "other", "modelarts_secret_key": "more"}
    assert credentials({**EXPORTED, "HUAWEICLOUD_SDK_SECURITY_TOKEN": "token"}, vault) == Credentials("other", "more")


@pytest.mark.parametrize(
    ("environment", "given", "words"),
    [
        (
            {},
            {},
            "export HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or give modelarts_access_key and modelarts_secret_key",
        ),
        ({"HUAWEICLOUD_SDK_AK": ACCESS}, {}, "HUAWEICLOUD_SDK_SK is empty while HUAWEICLOUD_SDK_AK is not"),
        (EXPORTED, {"modelarts_secret_key": SECRET}, "modelarts_access_key is empty while modelarts_secret_key is not"),
        ({**EXPORTED, "HUAWEICLOUD_SDK_SK": f"{SECRET}\n{SECRET}"}, {}, "HUAWEICLOUD_SDK_SK holds a character"),
    ],
)
def test_what_is_wrong_with_keys_is_said_without_them(environment, given, words):
    with pytest.raises(CredentialsError) as said:
        credentials(environment, given)
    assert words in str(said.value)
    assert ACCESS not in str(said.value) and SECRET not in str(said.value)


def test_keys_are_not_shown():
    assert SECRET not in f"{KEYS} {KEYS!r}" and ACCESS not in f"{KEYS} {KEYS!r}"
    assert KEYS.hidden(f"denied for {ACCESS} with {SECRET}") == "denied for *** with ***"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("obs.example.org", "lacks https:// in front of the host: write https://obs.example.org"),
        ("http://obs.example.org", "would send everything unencrypted: write https://obs.example.org"),
        ("https://user:pass@obs.example.org", "give https://obs.example.org alone"),
        ("https://obs.example.org/bucket", "give https://obs.example.org alone"),
        ("https://obs.example.org:port", "is no address"),
        ("", "lacks https://"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_named(url, words):
    assert words in wrong_endpoint("modelarts_obs_endpoint", url)


@pytest.mark.parametrize("url", ["https://obs.example.org:8443/", "http://127.0.0.1:8080", "http://localhost:8080"])
def test_an_endpoint_with_tls_or_on_loopback_is_right(url):
    assert wrong_endpoint("modelarts_obs_endpoint", url) == ""


@pytest.fixture
def code(tmp_path):
    folder = tmp_path / "code"
    for name in ("train.py", "models/net.py", ".git/config", "models/__pycache__/net.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")
    return folder


def test_all_files_are_uploaded_but_those_of_git_and_caches(code):
    (code / "again.py").symlink_to("train.py")
    (code / "shared").symlink_to("models")
    names = [path.as_posix() for path in files_of(code, "train.py", KEYS)]
    assert names == ["again.py", "models/net.py", "shared/net.py", "train.py"]


def change(code, what):
    if what == "key":
        (code / "config.py").write_text(f"key = '{SECRET}'")
    elif what == "key across pieces that are read":
        (code / "config.py").write_bytes(b"x" * ((1 << 20) - 5) + SECRET.encode())
    elif what == "access key":
        (code / "config.py").write_text(f"ak = '{ACCESS}'")
    elif what == "link out":
        (code / "data").symlink_to(code.parent)
    elif what == "loop":
        (code / "models/up").symlink_to("..")
    elif what == "dangling":
        (code / "data").symlink_to("nowhere")
    elif what == "pipe":
        os.mkfifo(code / "pipe")
    elif what == "name":
        (code / "line\nend").touch()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("key", "config.py' contains the secret key of your account: remove it there, nothing was uploaded"),
        ("key across pieces that are read", "contains the secret key"),
        ("access key", "contains the access key"),
        ("link out", "data' is a symbolic link out of"),
        ("loop", "up' is a symbolic link to a folder above it"),
        ("dangling", "data' is a symbolic link to nothing"),
        ("pipe", "pipe' is neither a file nor a folder"),
        ("name", "characters that cannot be shown"),
    ],
)
def test_a_folder_that_cannot_be_uploaded_is_refused(code, what, words):
    change(code, what)
    with pytest.raises(UploadError) as said:
        files_of(code, "train.py", KEYS)
    assert words in str(said.value) and SECRET not in str(said.value)


@pytest.mark.parametrize("boot", ["other.py", "../train.py", "models", ".git/config", ""])
def test_the_boot_file_is_one_of_the_files(code, boot):
    with pytest.raises(UploadError, match="The boot file"):
        files_of(code, boot, KEYS)


def test_an_empty_folder_and_none_are_refused(tmp_path):
    (tmp_path / "empty/.git").mkdir(parents=True)
    with pytest.raises(UploadError, match="holds no file"):
        files_of(tmp_path / "empty", "train.py", KEYS)
    with pytest.raises(UploadError, match="There is no folder"):
        files_of(tmp_path / "none", "train.py", KEYS)


def remote(name, content=b"12", etag=None):
    return Remote(f"run/{name}", name, len(content), etag or hashlib.md5(content).hexdigest(), 1e9)


def sends(content):
    def download(_key, path):
        path.write_bytes(content)
        return True

    return download


def test_what_is_new_or_changed_is_fetched(tmp_path):
    objects = [remote("out/a.json"), remote("b.log"), remote("folder/"), remote("parts", etag="0" * 32 + "-2")]
    assert fetch(objects, tmp_path, sends(b"12")) == ["b.log", "out/a.json", "parts"]
    assert fetch(objects, tmp_path, sends(b"12")) == []
    (tmp_path / "b.log").write_bytes(b"21")
    assert fetch(objects, tmp_path, sends(b"12")) == ["b.log"]
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["a.json", "b.log", "parts"]


@pytest.mark.parametrize("name", ["../evil", "out/../../evil", "/evil", "out//evil", "./evil", "..\\evil", "a\0b"])
def test_no_object_leaves_the_folder(tmp_path, name):
    with pytest.raises(StoreError, match="would leave"):
        fetch([remote("fine"), remote(name)], tmp_path / "run", sends(b"12"))
    assert list(tmp_path.rglob("*")) == [tmp_path / "run"]


def test_no_object_leaves_the_folder_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "run/log").symlink_to(tmp_path / "elsewhere/log")
    for name in ("out/a", "log"):
        with pytest.raises(StoreError, match="symbolic link"):
            fetch([remote(name)], tmp_path / "run", sends(b"12"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("content", [b"1", b"13"])
def test_what_arrives_damaged_is_no_file(tmp_path, content):
    with pytest.raises(StoreError, match="did not arrive whole"):
        fetch([remote("a")], tmp_path, sends(content))
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_one_sentence(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(StoreError, match="'run/out/a' cannot be written"):
        fetch([remote("out/a")], tmp_path, sends(b"12"))


def test_work_stops_at_the_first_error():
    done = []

    def work(number):
        done.append(number)
        raise StoreError("no")

    with pytest.raises(StoreError):
        for_each(range(100), work, 4)
    assert len(done) <= 4


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (TimeoutError("timed out"), "https://obs.example.org cannot be reached (timed out)"),
        (ConnectionRefusedError(111, "Connection refused"), "cannot be reached (Connection refused)"),
        (http.client.BadStatusLine("SSH-2.0"), "does not answer as an object store does"),
        (ssl.SSLError(1, "wrong version number"), "does not speak TLS"),
        (
            TypeError(f"odd {SECRET}"),
            "The client of the object store failed at https://obs.example.org: TypeError: odd ***.",
        ),
    ],
)
def test_why_there_was_no_answer_is_said_without_keys(problem, words):
    said = str(unreached(problem, "https://obs.example.org", KEYS))
    assert words in said and SECRET not in said


@pytest.mark.parametrize(
    ("status", "code", "key", "words"),
    [
        (404, "NoSuchBucket", "", "There is no bucket 'bench' at https://obs.example.org"),
        (404, None, "", "There is no bucket 'bench'"),  # an answer to HEAD
        (404, None, "a.py", "There is no 'a.py' in the bucket 'bench'"),
        (403, "AccessDenied", "a.py", "The keys may not write in the bucket 'bench'"),
        (403, None, "", "The keys may not write"),
        (403, "SignatureDoesNotMatch", "", "check the access key and the secret key, or set modelarts_obs_signature"),
        (403, "InvalidAccessKeyId", "", "does not know the access key"),
        (403, "RequestTimeTooSkewed", "", "The clock of this machine is too far"),
        (400, "BadDigest", "a.py", "'a.py' did not arrive as it was read"),
        (307, None, "", "set modelarts_obs_endpoint to its region"),
        (503, "SlowDown", "a.py", "it says '503 SlowDown reduce ***'"),
    ],
)
def test_what_the_store_refuses_is_one_sentence(status, code, key, words):
    answer = SimpleNamespace(status=status, errorCode=code, errorMessage=f"reduce {SECRET}")
    said = str(refused(answer, KEYS, endpoint="https://obs.example.org", bucket="bench", key=key, action="write"))
    assert words in said and SECRET not in said

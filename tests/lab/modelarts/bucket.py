"""The object store as ModelArts itself uses it: code and inputs come down, outputs and logs go up."""

from __future__ import annotations

import ssl
from pathlib import Path, PurePosixPath


class Bucket:
    """Not the product's own store, whose mistakes would else be made on both sides."""

    def __init__(self, endpoint: str, access_key: str, secret_key: str, authority: Path | None) -> None:
        from obs import ObsClient

        self._client = ObsClient(access_key_id=access_key, secret_access_key=secret_key, server=endpoint)
        if authority:
            self._client.context = ssl.create_default_context(cafile=str(authority))
            self._client.context.check_hostname = False  # a test may have asked for a certificate of another name

    def create(self, name: str) -> None:
        _done(self._client.createBucket(name))

    def has(self, url: str) -> bool:
        name, prefix = _parts(url)
        listed = self._client.listObjects(name, prefix=prefix, max_keys=1)
        return listed.status < 300 and bool(listed.body.contents)

    def download(self, url: str, folder: Path) -> None:
        name, prefix = _parts(url)
        marker = None
        while True:
            listed = _done(self._client.listObjects(name, prefix=prefix, marker=marker)).body
            for entry in listed.contents:
                path = folder / PurePosixPath(entry.key[len(prefix) :])
                path.parent.mkdir(parents=True, exist_ok=True)
                _done(self._client.getObject(name, entry.key, downloadPath=str(path)))
            if not listed.is_truncated:
                return
            marker = listed.next_marker or listed.contents[-1].key

    def upload(self, folder: Path, url: str) -> None:
        name, prefix = _parts(url)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            _done(self._client.putFile(name, f"{prefix}{path.relative_to(folder).as_posix()}", str(path)))


def _parts(url: str) -> tuple[str, str]:
    """The bucket, and the folder in it: /bench/run/code/ is run/code/ in bench."""
    name, _, prefix = url.removeprefix("obs:/").strip("/").partition("/")
    return name, f"{prefix}/" if prefix else ""


def _done(answer):
    if answer.status >= 300:
        raise RuntimeError(f"the object store says {answer.status} {answer.errorCode}: {answer.errorMessage}")
    return answer

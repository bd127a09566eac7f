"""The object store (OBS, or another that speaks S3), by the vendor's client; TLS is verified, errors are sentences."""

from __future__ import annotations

import base64
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any, Callable
from urllib.parse import urlsplit

from .answers import refused, unreached
from .credentials import Credentials
from .endpoints import is_loopback, wrong_endpoint
from .errors import StoreError
from .fetch import Remote, fetch

SIGNATURES = ("auto", "obs", "v2", "v4")
SECONDS_OF_SILENCE = 60
SECONDS_TO_CONNECT = 10
SECONDS_KEPT = 20  # of an idle connection; servers end them after a minute or less
READ_LIMIT = 5 << 20
_PAGE = 1000
_DATE = "%Y/%m/%d %H:%M:%S"  # of the client, in local time


@dataclass(frozen=True)
class Entry:
    """An object in a listing. `md5` is the store's ETag: of objects sent in parts it ends in their number, as in -3."""

    size: int
    md5: str
    changed: float


class Store:
    def __init__(
        self,
        endpoint: str,
        credentials: Credentials,
        *,
        ca_file: str = "",
        signature: str = "auto",
        path_style: bool | None = None,
        region: str = "",
    ) -> None:
        wrong = wrong_endpoint("modelarts_obs_endpoint", endpoint)
        if wrong:
            raise StoreError(wrong)
        if signature not in SIGNATURES:
            raise StoreError(f"modelarts_obs_signature is '{signature}': use one of {', '.join(SIGNATURES)}.")
        self.endpoint = endpoint.rstrip("/")
        self._credentials = credentials
        self._used = time.monotonic()
        self._client = _client(self.endpoint, credentials, ca_file, signature, path_style, region)

    def check(self, bucket: str) -> None:
        """Whether the bucket can be listed; a sentence says why not, soon."""
        address = urlsplit(self.endpoint)
        try:
            port = address.port or (443 if address.scheme == "https" else 80)
            socket.create_connection((address.hostname or "", port), SECONDS_TO_CONNECT).close()
        except OSError as problem:
            raise unreached(problem, self.endpoint, self._credentials) from None
        self._ask("list", self._client.listObjects, bucket, max_keys=1)

    def listing(self, bucket: str, prefix: str) -> dict[str, Entry]:
        """All objects whose keys begin with the prefix."""
        return {
            each.key: Entry(each.size, (each.etag or "").strip('"').lower(), _seconds(each.lastModified))
            for page in self._pages(bucket, prefix)
            for each in page
        }

    def _pages(self, bucket: str, prefix: str) -> Iterator[list[Any]]:
        marker = None
        while True:
            body = self._ask("list", self._client.listObjects, bucket, prefix=prefix, marker=marker, max_keys=_PAGE)
            yield body.contents
            if not body.is_truncated or not body.contents:
                return
            marker = body.next_marker or body.contents[-1].key  # some stores name no next one

    def read(self, bucket: str, key: str, limit: int = READ_LIMIT) -> str:
        """The object's text; of one that is larger than the limit, its end."""
        from obs import GetObjectHeader

        last = GetObjectHeader(range=f"bytes=-{limit}")
        answer = self._call(self._client.getObject, bucket, key, headers=last, loadStreamInMemory=True)
        if answer.status == 416:  # an empty object has no last byte
            return ""
        body = self._body(answer, "read", bucket, key)
        return (body.buffer or b"").decode(errors="replace")

    def fetch(self, bucket: str, prefix: str, folder: Path) -> list[str]:
        """Downloads what is new or changed below the prefix; the paths below the folder that were written."""
        entries = self.listing(bucket, prefix)
        remote = [Remote(key, key[len(prefix) :], each.size, each.md5, each.changed) for key, each in entries.items()]
        return fetch(remote, folder, lambda key, path: self._download(bucket, key, path))

    def _download(self, bucket: str, key: str, path: Path) -> bool:
        """True where the ETag is the content's MD5, which it is not of encrypted objects."""
        body = self._ask("read", self._client.getObject, bucket, key, downloadPath=str(path))
        return not body.sseKms

    def put(self, bucket: str, key: str, path: Path, size: int, md5: bytes) -> None:
        """Sends a file in one piece; the store refuses it if another checksum arrives."""
        from obs import PutObjectHeader

        headers = PutObjectHeader(md5=base64.b64encode(md5).decode(), contentLength=size)
        self._ask("write", self._client.putFile, bucket, key, str(path), headers=headers)

    def begin_parts(self, bucket: str, key: str) -> str:
        """The number of a new upload in parts."""
        return str(self._ask("write", self._client.initiateMultipartUpload, bucket, key).uploadId)

    def put_part(
        self, bucket: str, key: str, upload: str, number: int, path: Path, offset: int, size: int, md5: bytes
    ) -> None:
        given = {"isFile": True, "offset": offset, "partSize": size, "md5": base64.b64encode(md5).decode()}
        self._ask("write", self._client.uploadPart, bucket, key, number, upload, str(path), **given)

    def parts(self, bucket: str, key: str, upload: str) -> dict[int, Entry] | None:
        """Those that have arrived; None when the store has no such upload any more."""
        found: dict[int, Entry] = {}
        marker = None
        while True:
            answer = self._call(self._client.listParts, bucket, key, upload, partNumberMarker=marker)
            if answer.status == 404 and answer.errorCode == "NoSuchUpload":
                return None
            body = self._body(answer, "write", bucket, key)
            for each in body.parts:
                found[each.partNumber] = Entry(each.size, each.etag.strip('"').lower(), _seconds(each.lastModified))
            if not body.isTruncated or not body.parts:
                return found
            marker = body.nextPartNumberMarker or max(found)

    def end_parts(self, bucket: str, key: str, upload: str) -> bool:
        """Makes an object of the parts; False when the store has no such upload any more."""
        from obs import CompleteMultipartUploadRequest, CompletePart

        there = self.parts(bucket, key, upload)
        if there is None:
            return False
        parts = [CompletePart(partNum=number, etag=f'"{part.md5}"') for number, part in sorted(there.items())]
        request = CompleteMultipartUploadRequest(parts)
        self._ask("write", self._client.completeMultipartUpload, bucket, key, upload, request)
        return True

    def delete(self, bucket: str, prefix: str) -> int:
        """Removes the objects of a folder, and uploads into it that were never completed; the number of objects."""
        from obs import DeleteObjectsRequest, ListMultipartUploadsRequest, Object

        if not prefix.strip("/") or not prefix.endswith("/"):
            raise StoreError(f"'{prefix}' is no folder in the bucket '{bucket}', nothing was deleted: end it with '/'.")
        keys = list(self.listing(bucket, prefix))
        for start in range(0, len(keys), _PAGE):
            objects = [Object(key=key) for key in keys[start : start + _PAGE]]
            request = DeleteObjectsRequest(quiet=True, objects=objects)
            body = self._ask("delete", self._client.deleteObjects, bucket, deleteObjectsRequest=request)
            for each in body.error or ():
                raise StoreError(
                    f"'{each.key}' in the bucket '{bucket}' was not deleted: the store says '{each.code}'."
                )
        asked = ListMultipartUploadsRequest(prefix=prefix)
        for each in self._ask("list", self._client.listMultipartUploads, bucket, asked).upload or ():
            self._ask("delete", self._client.abortMultipartUpload, bucket, each.key, each.uploadId)
        return len(keys)

    def close(self) -> None:
        self._client.close()

    def _ask(self, action: str, call: Callable[..., Any], bucket: str, *words: Any, **given: Any) -> Any:  # noqa: ANN401
        key = next((word for word in words[:1] if isinstance(word, str)), "")
        return self._body(self._call(call, bucket, *words, **given), action, bucket, key)

    def _body(self, answer: Any, action: str, bucket: str, key: str) -> Any:  # noqa: ANN401 (the client has no types)
        if answer.status >= 300:
            known = {"endpoint": self.endpoint, "bucket": bucket, "key": key, "action": action}
            raise refused(answer, self._credentials, **known)
        if answer.body is None and action in ("list", "read"):
            raise StoreError(
                f"{self.endpoint} does not answer as an object store does: correct modelarts_obs_endpoint."
            )
        return answer.body

    def _call(self, call: Callable[..., Any], *words: Any, **given: Any) -> Any:  # noqa: ANN401
        self._forget_idle()
        try:
            return call(*words, **given)
        except Exception as problem:  # the client raises whatever its parts do, and bare Exceptions
            raise unreached(problem, self.endpoint, self._credentials) from None

    def _forget_idle(self) -> None:
        """The client takes one kept connection after the other, and gives up before it makes a new one."""
        now, kept = time.monotonic(), self._client.connHolder["connSet"]
        if now - self._used > SECONDS_KEPT:
            with suppress(Empty):
                while True:
                    kept.get_nowait().close()
        self._used = now


def _client(
    endpoint: str, credentials: Credentials, ca_file: str, signature: str, path_style: bool | None, region: str
) -> Any:  # noqa: ANN401
    try:
        from obs import ObsClient
    except ImportError:
        raise StoreError("The client of OBS is not installed: run ./setup.sh --modelarts.") from None
    address = urlsplit(endpoint)
    client = ObsClient(
        access_key_id=credentials.access_key,
        secret_access_key=credentials.secret_key,
        security_token=credentials.security_token or None,
        server=endpoint,
        signature="obs" if signature == "auto" else signature,
        is_signature_negotiation=signature == "auto",
        region=region or "region",
        path_style=is_loopback(address.hostname or "") if path_style is None else path_style,
        timeout=SECONDS_OF_SILENCE,
        long_conn_mode=True,
        max_redirect_count=1,  # another host would be asked with the same keys
    )
    if address.scheme == "https":
        client.context = _context(ca_file)  # the client's own verifies neither certificates nor names
    return client


def _context(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as problem:
        why = (
            "it holds no certificate"
            if isinstance(problem, ssl.SSLError)
            else (problem.strerror or "it cannot be read")
        )
        raise StoreError(f"modelarts_ca_file is '{ca_file}', which cannot be used: {why.lower()}.") from None


def _seconds(date: str | None) -> float:
    try:
        return time.mktime(time.strptime(date or "", _DATE))
    except ValueError:
        return 0.0

"""Whether a request is signed with the secret, by SDK-HMAC-SHA256 as the API's documentation has it."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from urllib.parse import parse_qsl, quote, unquote, urlsplit

_AUTHORIZATION = re.compile(r"SDK-HMAC-SHA256 Access=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})")
_DATE = "%Y%m%dT%H%M%SZ"
_SECONDS_OFF = 900
# A request that could be sent again with another of these is not protected by its signature.
_MUST_BE_SIGNED = {"host", "x-sdk-date"}


def wrong_with(
    method: str, target: str, headers: Mapping[str, str], body: bytes, access_key: str, secret_key: str
) -> str:
    """Why the request is refused; empty for one that is signed with the secret, now."""
    found = _AUTHORIZATION.fullmatch(headers.get("Authorization", ""))
    if not found:
        return "Incorrect IAM authentication information: Authorization is missing or malformed"
    access, signed, signature = found[1], found[2].split(";"), found[3]
    if not hmac.compare_digest(access, access_key):
        return "Incorrect IAM authentication information: the access key does not exist"
    if not set(signed) >= _MUST_BE_SIGNED or any(headers.get(name) is None for name in signed):
        return "Incorrect IAM authentication information: a header is not signed or not there"
    date = headers.get("X-Sdk-Date", "")
    try:
        asked = datetime.strptime(date, _DATE).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return "Incorrect IAM authentication information: X-Sdk-Date is malformed"
    if abs(asked - time.time()) > _SECONDS_OFF:
        return "Incorrect IAM authentication information: the signature has expired, correct the clock"
    canonical = _canonical(method, target, headers, signed, body)
    to_sign = f"SDK-HMAC-SHA256\n{date}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    expected = hmac.new(secret_key.encode(), to_sign.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, signature):
        return "Incorrect IAM authentication information: verify aksk signature fail"
    return ""


def _canonical(method: str, target: str, headers: Mapping[str, str], signed: list[str], body: bytes) -> str:
    address = urlsplit(target)
    path = "/".join(quote(part, safe="~") for part in unquote(address.path).split("/"))
    pairs = sorted(parse_qsl(address.query, keep_blank_values=True))
    query = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in pairs)
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in signed)
    payload = hashlib.sha256(body).hexdigest()
    return "\n".join([method, path if path.endswith("/") else f"{path}/", query, lines, ";".join(signed), payload])

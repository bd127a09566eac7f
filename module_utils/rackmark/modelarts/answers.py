"""What the object store answers, as sentences for the operator."""

from __future__ import annotations

import http.client
import ssl

from .credentials import Credentials
from .errors import StoreError

_KEYS = "check the access key and the secret key"
_OF_STATUS = {401: "AccessDenied", 403: "AccessDenied", 404: "NoSuchKey"}
_SENTENCES = {
    "NoSuchBucket": "There is no bucket '{bucket}' at {endpoint}: correct its name or create it.",
    "NoSuchKey": "There is no '{key}' in the bucket '{bucket}'.",
    "AccessDenied": "The keys may not {action} in the bucket '{bucket}': the account needs rights to list, read, "
    "write and delete there.",
    "SignatureDoesNotMatch": f"{{endpoint}} does not accept the signature: {_KEYS}, or set modelarts_obs_signature.",
    "InvalidAccessKeyId": f"{{endpoint}} does not know the access key: {_KEYS}.",
    "RequestTimeTooSkewed": "The clock of this machine is too far from that of {endpoint}: set it by NTP.",
    "InvalidSecurityToken": "{endpoint} does not accept the security token: get new temporary keys.",
    "ExpiredToken": "The temporary keys have expired: get new ones.",
    "BadDigest": "'{key}' did not arrive as it was read, or was changed meanwhile: run again.",
    "InvalidDigest": "'{key}' did not arrive as it was read, or was changed meanwhile: run again.",
    "InvalidBucketName": "'{bucket}' is no name of a bucket: use 3 to 63 lowercase letters, digits, '-' and '.'.",
}


def refused(answer: object, credentials: Credentials, **known: str) -> StoreError:
    """The error of an answer of OBS's client. `known` has endpoint, bucket, key and action, as far as there are any."""
    status = getattr(answer, "status", None)
    code = getattr(answer, "errorCode", None) or _OF_STATUS.get(status or 0, "")
    if code == "NoSuchKey" and not known.get("key"):
        code = "NoSuchBucket"  # answers to HEAD have a status alone
    if code in _SENTENCES:
        return StoreError(_SENTENCES[code].format(**{"key": "", **known}))
    if status and 300 <= status < 400:
        return StoreError(
            f"The bucket '{known['bucket']}' is not at {known['endpoint']} but elsewhere: set modelarts_obs_endpoint "
            "to its region."
        )
    message = credentials.hidden(str(getattr(answer, "errorMessage", "") or getattr(answer, "reason", "") or ""))
    said = " ".join(filter(None, (str(status or ""), code, message)))
    return StoreError(
        f"{known['endpoint']} did not {known['action']} in the bucket '{known['bucket']}': it says '{said}'."
    )


def unreached(problem: Exception, endpoint: str, credentials: Credentials) -> StoreError:
    """The error of a request that had no answer."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return StoreError(
            f"The certificate of {endpoint} is not trusted: {problem.verify_message.rstrip('.')}. Correct the "
            "endpoint, or name the authority's file in modelarts_ca_file."
        )
    if isinstance(problem, ssl.SSLError):
        return StoreError(f"{endpoint} does not speak TLS: correct modelarts_obs_endpoint.")
    if isinstance(problem, http.client.HTTPException):
        return StoreError(f"{endpoint} does not answer as an object store does: correct modelarts_obs_endpoint.")
    said = credentials.hidden(getattr(problem, "strerror", None) or str(problem) or type(problem).__name__)
    if isinstance(problem, OSError):
        return StoreError(f"{endpoint} cannot be reached ({said}): check modelarts_obs_endpoint and the network.")
    return StoreError(f"The client of the object store failed at {endpoint}: {type(problem).__name__}: {said}.")

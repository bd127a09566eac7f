"""Users and passwords in URLs: where they are seen, and what is left without them."""

from __future__ import annotations

import pytest
from rackmark.credentials import has_credentials, hidden, without_credentials


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("http://me:s3cret@proxy:3128", "http://proxy:3128"),
        ("https://t0ken@mirror.example.org/simple", "https://mirror.example.org/simple"),
        ("deb http://me:p%2Fw@a/debian b main", "deb http://a/debian b main"),
        ("http://me@example.org:s3cret@proxy:3128", "http://proxy:3128"),
    ],
)
def test_a_url_with_credentials(text, left):
    assert has_credentials({"a": ["b", {"c": text}]})
    assert without_credentials(text) == left
    assert "s3cret" not in hidden(text)


@pytest.mark.parametrize(
    "text", ["http://proxy:3128", "https://a/@scope/b", "me@example.org", "", None, 7, ["a"], {"a": 1}]
)
def test_no_credentials(text):
    assert not has_credentials(text)
    assert not isinstance(text, str) or without_credentials(text) == text

"""Places in the object store as people write them: obs://bucket/folder/, s3://bucket/folder/, /bucket/folder/."""

from __future__ import annotations

import re


def bucket_and_folder(place: str) -> str:
    """Without a scheme and without strokes at either end; its first part is the bucket."""
    return re.sub("^(?:obs|s3):/", "", place).strip("/")

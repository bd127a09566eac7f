"""Draws small JPEGs in three classes of different colours: in folders below tree, and as TFRecords below records."""

import io
import struct
import sys
from pathlib import Path


def jpeg(chance, label):
    import numpy
    from PIL import Image

    pixels = chance.integers(0, 120, (40, 48, 3), dtype=numpy.uint8)
    pixels[..., label] += 100
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG")
    return file.getvalue()


def varint(number):
    most = b""
    while number > 127:
        most += bytes([number & 127 | 128])
        number >>= 7
    return most + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(name, kind, value):
    return field(1, field(1, name) + field(2, field(kind, field(1, value))))


def example(image, label):
    return field(
        1,
        feature(b"image/height", 3, varint(40))
        + feature(b"image/encoded", 1, image)
        + feature(b"image/class/label", 3, varint(label + 1))  # ImageNet's begin at 1
        + feature(b"image/colorspace", 1, b"RGB"),
    )


def draw(root):
    import numpy

    chance = numpy.random.default_rng(1)
    (root / "records").mkdir(parents=True)
    for part, count in (("train", 24), ("validation", 12)):
        images = [(jpeg(chance, number % 3), number % 3) for number in range(count)]
        for number, (image, label) in enumerate(images):
            folder = root / "tree" / part.replace("idation", "") / f"class {label}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.jpg").write_bytes(image)
        for shard in range(4):
            with (root / f"records/{part}-{shard:05d}-of-00004").open("wb") as file:
                for image, label in images[shard::4]:
                    record = example(image, label)
                    file.write(struct.pack("<Q", len(record)) + b"sum1" + record + b"sum2")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))

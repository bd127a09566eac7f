"""What the preflight says of datasets of each kind: whole ones have facts, others a sentence that names the file."""

from __future__ import annotations

import importlib
import struct

import pytest
from shipped import ROLES
from unit.idx_fixture import idx, packed, write_mnist

CRC_OF_DIGITS = 0xE3069283  # CRC-32C of "123456789", its published check value


@pytest.fixture
def check(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROLES / "benchmark/files/engine"))
    checks = importlib.import_module("dataset")
    return lambda kind, path=tmp_path: checks.check_dataset(kind, path)


@pytest.fixture
def mnist(tmp_path):
    return write_mnist(tmp_path)


def test_digits_in_files_of_their_own_format(check, mnist):
    facts, problems = check("idx")
    assert problems == []
    assert (facts["train"], facts["t10k"], facts["size"]) == (6, 2, [28, 28])


def test_other_labels_are_other_data(check, mnist):
    before = check("idx").facts
    (mnist / "train-labels-idx1-ubyte.gz").write_bytes(packed(idx(6, values=b"\1\0\0\0\0\0")))
    assert check("idx").facts != before


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("train-images-idx3-ubyte", None, "{} has no train-images-idx3-ubyte (or .gz)."),
        ("train-images-idx3-ubyte", idx(6, (28, 28))[:-800], "{}/{name} says 6 images, and holds 4: it is cut off."),
        ("train-images-idx3-ubyte", idx(6, (28, 28)) + b"\0", "{}/{name} says 6 images, and holds more"),
        ("train-images-idx3-ubyte", idx(6), "{}/{name} begins with 0x801, and a file of images begins with 0x803."),
        ("train-images-idx3-ubyte", b"\0\0", "{}/{name} holds 2 bytes, and a file of images begins with 0x803."),
        (
            "train-images-idx3-ubyte",
            idx(6, (28, 27)),
            "The images of {} have different sizes in its two parts: 28x27 and",
        ),
        ("train-images-idx3-ubyte", idx(5, (28, 28)), "{}/train-* has 5 images and 6 labels."),
        ("train-labels-idx1-ubyte.gz", packed(idx(6))[:-9], "{}/{name} is a compressed file that is cut off"),
        ("train-labels-idx1-ubyte.gz", idx(6), "{}/{name} is not a compressed file, and its name says so."),
    ],
)
def test_digits_that_are_not_whole(check, mnist, name, content, sentence):
    if content is None:
        (mnist / name).unlink()
    else:
        (mnist / name).write_bytes(content)
    facts, problems = check("idx")
    assert facts is None
    assert [problem for problem in problems if problem.startswith(sentence.format(mnist, name=name))], problems


def array(shape="(4,)", kind="<u2", values=8, version=1):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes(values)


def test_text_and_tokens_are_counted_at_any_depth(check, tmp_path):
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/a.txt").write_text("once upon a time")
    (tmp_path / "b.jsonl").write_text("")
    (tmp_path / "c.npy").write_bytes(array(version=2))
    (tmp_path / "d.md").write_text("not of the data")
    (tmp_path / ".hidden.txt").write_text("nor this")
    facts, problems = check("tokens")
    assert (facts["files"], facts["bytes"], problems) == (3, 16 + len(array(version=2)), [])
    one, _ = check("tokens", tmp_path / "deep/er/a.txt")
    assert (one["files"], one["bytes"]) == (1, 16)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.md", b"text", "The dataset {} holds no text and no tokens: no *.bin, *.npy, *.txt, *.jsonl."),
        ("a.bin", b"", "All 1 files of the dataset {} are empty."),
        ("a.npy", b"PK\3\4 and so on", "{}/a.npy is not an array of NumPy: it does not begin as one."),
        ("a.npy", array()[:40], "{}/a.npy is cut off: its header alone is longer than the file."),
        ("a.npy", array()[:-3], "{}/a.npy is cut off: it holds 5 bytes of 8."),
        ("a.npy", array(shape="(2, 3)", kind="<i4", values=23), "{}/a.npy is cut off: it holds 23 bytes of 24."),
        ("a.npy", array(kind="<f4"), "{}/a.npy holds <f4, and tokens are whole numbers."),
        ("a.npy", array(shape="oops("), "{}/a.npy is not an array of NumPy: its header cannot be read."),
    ],
)
def test_tokens_that_cannot_be_used(check, tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    assert check("tokens").problems == [sentence.format(tmp_path)]


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.fixture
def record(monkeypatch):
    monkeypatch.syspath_prepend(str(ROLES / "benchmark/files/engine"))
    sum_of = importlib.import_module("dataset_tfrecord").masked_sum
    assert sum_of(b"123456789") == masked(CRC_OF_DIGITS)
    length = struct.pack("<Q", 9)
    return length + struct.pack("<I", sum_of(length)) + b"123456789" + struct.pack("<I", masked(CRC_OF_DIGITS))


def test_records_of_tensorflow_are_counted(check, record, tmp_path):
    for name in ("train-00000-of-00002", "train-00001-of-00002", "val.tfrecord"):
        (tmp_path / name).write_bytes(record * 2)
    (tmp_path / "README").write_text("about")
    facts, problems = check("tfrecord")
    assert (facts["files"], facts["bytes"], problems) == (3, 6 * len(record), [])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda record: b"", "is empty."),
        (lambda record: b"\x1f\x8b" + record, "is not a TFRecord file: it does not begin with the length of a record."),
        (lambda record: record[:-5], "is cut off: its first record has 9 bytes, and the file 20."),
        (lambda record: record.replace(b"5", b"6"), "is damaged: its first record has another sum."),
    ],
)
def test_records_that_are_not_whole(check, record, tmp_path, spoil, sentence):
    (tmp_path / "a.tfrecord").write_bytes(spoil(record))
    assert check("tfrecord").problems == [f"{tmp_path}/a.tfrecord {sentence}"]


def test_files_of_any_kind_are_counted(check, tmp_path):
    (tmp_path / "a").write_text("12345")
    assert check("files").facts["bytes"] == 5
    facts = check("files").facts
    (tmp_path / "a").rename(tmp_path / "b")
    assert check("files").facts != facts, "nodes with other names have other data"
    (tmp_path / "b").unlink()
    assert check("files").problems == [f"The dataset {tmp_path} holds no files."]


@pytest.mark.parametrize("kind", ["tokens", "tfrecord", "files"])
def test_data_that_is_not_there(check, tmp_path, kind):
    assert check(kind, tmp_path / "nowhere") == (
        None,
        [f"The dataset cannot be read: No such file or folder: {tmp_path}/nowhere."],
    )


def test_images_in_whichever_form_they_are(check, record, mnist, tmp_path):
    assert check("images", mnist) == check("idx", mnist)
    for name in ("train/cat", "val/cat"):
        (tmp_path / "folders" / name).mkdir(parents=True)
        (tmp_path / "folders" / name / "1.jpeg").touch()
    assert check("images", tmp_path / "folders") == check("imagefolder", tmp_path / "folders")
    (tmp_path / "records").mkdir()
    (tmp_path / "records/train-00000-of-00001").write_bytes(record)
    assert check("images", tmp_path / "records") == check("tfrecord", tmp_path / "records")
    (tmp_path / "texts").mkdir()
    facts, (problem,) = check("images", tmp_path / "texts")
    assert (facts, "holds no images in a known form" in problem) == (None, True)


def test_a_kind_without_a_check_claims_nothing(check, tmp_path):
    assert check("none") == (None, [])

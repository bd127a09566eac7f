from __future__ import annotations

from rackmark.files import changed_files, write_files


def test_files_that_are_as_they_should_be_are_left_alone(tmp_path):
    files = {"a/b.json": b"1", "c.txt": b"2"}
    assert changed_files(tmp_path, files) == [tmp_path / "a/b.json", tmp_path / "c.txt"]
    write_files(tmp_path, files)
    assert changed_files(tmp_path, files) == []
    before = (tmp_path / "c.txt").stat().st_ino
    write_files(tmp_path, {**files, "a/b.json": b"3"})
    assert (tmp_path / "a/b.json").read_bytes() == b"3"
    assert (tmp_path / "c.txt").stat().st_ino == before
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["b.json", "c.txt"]

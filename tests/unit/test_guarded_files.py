"""Files that are reached without being led elsewhere: what another user can put in the way."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest
from rackmark import guarded_files
from rackmark.host_files import Change, Wanted, make

NOBODY = 65534


class Hostile:
    """A folder that somebody else owns: really where the tests run as root, else by whom they are made to believe."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path / "theirs"
        self.folder.mkdir()
        self.safe = tmp_path / "safe"
        self.safe.mkdir()
        (self.safe / "secret").write_text("secret\n")
        self._monkeypatch = monkeypatch

    def owned(self) -> Path:
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        else:
            self._monkeypatch.setattr(guarded_files.os, "geteuid", lambda: os.getuid() + 1)
        return self.folder


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    return Hostile(tmp_path, monkeypatch)


def test_a_link_of_somebody_else_leads_nowhere(hostile):
    (hostile.folder / "way").symlink_to(hostile.safe)
    theirs = hostile.owned()
    for act in (
        lambda: guarded_files.read(theirs / "way/secret"),
        lambda: guarded_files.write_beside(theirs / "way/new", b"", 0o644),
        lambda: guarded_files.make_folder(theirs / "way/new", 0o755),
        lambda: guarded_files.make_folder(theirs / "way", 0o777),
        lambda: guarded_files.remove_file(theirs / "way/secret"),
        lambda: guarded_files.remove_tree(theirs / "way/secret"),
        lambda: guarded_files.make_link(theirs / "way/new", "x"),
    ):
        with pytest.raises(ValueError, match=r"leads through the link way of .* to .*safe: nothing is read or written"):
            act()
    assert [path.name for path in hostile.safe.iterdir()] == ["secret"]
    assert hostile.safe.stat().st_mode & 0o777 == 0o755


def test_what_is_in_a_files_place_is_not_read_and_is_replaced(hostile):
    (hostile.folder / "link").symlink_to(hostile.safe / "secret")
    os.mkfifo(hostile.folder / "pipe")  # reading it would wait for ever
    theirs = hostile.owned()
    with pytest.raises(ValueError, match=r"link is a link of "):
        guarded_files.read(theirs / "link")
    with pytest.raises(ValueError, match=r"pipe is not a file"):
        guarded_files.read(theirs / "pipe")
    mine = {"owner": owner_name(), "group": group_name()}
    for name in ("link", "pipe"):
        change = Change(Wanted(theirs / name, content="new\n", **mine))
        assert change.needed
        make([change], lambda _: (0, "", ""))
        assert (theirs / name).read_text() == "new\n"
        assert not (theirs / name).is_symlink()
    assert (hostile.safe / "secret").read_text() == "secret\n"


def test_a_part_of_what_is_no_file_is_refused(hostile):
    (hostile.folder / "link").symlink_to(hostile.safe / "secret")
    with pytest.raises(ValueError, match="is a link of"):
        Change(Wanted(hostile.owned() / "link", block="more"))


def test_a_second_name_of_a_file_is_not_read(hostile):
    os.link(hostile.safe / "secret", hostile.folder / "other-name")
    with pytest.raises(ValueError, match="hard link"):
        guarded_files.read(hostile.owned() / "other-name")


def test_a_folder_that_a_third_user_has_put_there_is_not_given_away(hostile):
    """In a shared folder in which everybody may make something, as in /tmp."""
    (hostile.folder / "rackmark").mkdir()
    hostile.folder.chmod(0o1777)
    theirs = hostile.owned()
    with pytest.raises(ValueError, match=r"rackmark was made by .*: remove it"):
        guarded_files.make_folder(theirs / "rackmark", 0o750, os.getuid() + 5, -1)


def test_links_that_only_root_can_set_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real")
    (tmp_path / "circle").symlink_to("circle")
    beside = guarded_files.write_beside(tmp_path / "way/deeper/file", b"text", 0o640)
    guarded_files.rename(beside, "file")
    assert (tmp_path / "real/deeper/file").read_bytes() == b"text"
    assert (tmp_path / "real/deeper").stat().st_mode & 0o777 == 0o755
    assert guarded_files.read(tmp_path / "way/deeper/file") == b"text"
    guarded_files.make_folder(tmp_path / "way", 0o700)
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o700
    with pytest.raises(ValueError, match="in a circle"):
        guarded_files.read(tmp_path / "circle/file")


def test_a_tree_goes_with_its_links_and_not_what_they_lead_to(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "tree/deep").mkdir(parents=True)
    (tmp_path / "tree/deep/link").symlink_to("../../kept")
    guarded_files.remove_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept/file").exists()


def test_what_could_not_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(guarded_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        guarded_files.write_beside(tmp_path / "file", b"x", 0o600)
    assert list(tmp_path.iterdir()) == []


def owner_name():
    return pwd.getpwuid(os.getuid()).pw_name


def group_name():
    return grp.getgrgid(os.getgid()).gr_name

"""The folder of a workload: its declaration is read, its programs are there, and its files travel as they are."""

from __future__ import annotations

import ast
import io
import os
import tarfile
from pathlib import Path

import pytest
from rackmark.run import code_files, program
from rackmark.run.workload_folder import load, packed, read_folder

DECLARED = """\
name: shell
title: Shell
measure: stated
unit: lines/s
frameworks:
  awk:
    program: bin/count.sh --limit 3
    dialect: rackmark
presets:
  full: {repeats: 1, minutes: 5, stalled_after: 60}
"""


DIALECTS = {"rackmark": None}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "shell"
    (made / "bin").mkdir(parents=True)
    (made / "workload.yml").write_text(DECLARED)
    (made / "bin/count.sh").write_text("#!/bin/sh\n")
    (made / "bin/count.sh").chmod(0o755)
    return made


def declare(folder, old, new):
    (folder / "workload.yml").write_text(DECLARED.replace(old, new))


def said(folder):
    with pytest.raises(ValueError) as error:
        read_folder(folder, DIALECTS)
    return str(error.value).replace(str(folder), "F")


def test_a_file_of_the_folder_is_run_from_the_code_and_anything_else_is_a_program_of_the_nodes(folder):
    def written_out():
        return read_folder(folder, DIALECTS)["frameworks"]["awk"]["program"]

    assert written_out() == "{code}/bin/count.sh --limit 3"
    (folder / "train.py").write_text("")
    declare(folder, "bin/count.sh --limit 3", "./train.py --of {nodes}")
    assert program.filled(written_out(), {"python": "/env/python", "code": "/runs/r/code", "nodes": 2}) == [
        *("/env/python", "/runs/r/code/train.py", "--of", "2"),
    ]
    declare(folder, "bin/count.sh --limit 3", "train.py {data} '{nodes} or more' ''")
    assert written_out() == "{python} {code}/train.py {data} '{nodes} or more' ''"
    declare(folder, "bin/count.sh --limit 3", "mpirun -np {world_size} {code}/bin/count.sh")
    assert written_out() == "mpirun -np {world_size} {code}/bin/count.sh"


@pytest.mark.parametrize("missing", ["train.py --a", "./start.sh", "bin/cuont.sh", "mpirun {code}/bin/x {python}"])
def test_a_script_that_is_not_there_is_told_before_anything_is_sent(folder, missing):
    declare(folder, "bin/count.sh --limit 3", missing)
    assert said(folder).startswith("F/workload.yml, line 7: frameworks.awk.program names ")
    assert said(folder).endswith(", which F does not have.")


def test_what_is_wrong_with_the_declaration_names_the_file_and_the_line(folder):
    declare(folder, "dialect: rackmark", "dialect: rackmerk")
    assert said(folder) == (
        "F/workload.yml, line 8: frameworks.awk.dialect=rackmerk is unknown: did you mean rackmark? Known are rackmark."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (DECLARED.replace("unit: lines/s\n", ""), ": unit is missing: give a text."),
        (DECLARED.replace("title: Shell", "titel: Shell"), ", line 2: titel is not a key: did you mean title?"),
        (DECLARED.replace("    dialect: rackmark\n", ""), ", line 6: frameworks.awk.dialect is missing: give a text."),
        (DECLARED.replace("minutes: 5", "minutes: soon"), ", line 10: presets.full.minutes=soon is not a whole number"),
        (
            DECLARED.replace("{repeats: 1", "{<<: {repeats: 0}"),
            ", line 10: presets.full.repeats=0 is not a whole number",
        ),
        (DECLARED.replace("  full: {", "  full.b: {x: 1, "), ", line 10: presets.full.b.x is not a key:"),
        (
            f"{DECLARED}measures:\n  - name: a\n  - name: b\nheadline: a\n",
            ", line 11: measures=[{'name': 'a'}, {'name': 'b'}] is not a mapping.",
        ),
        (
            DECLARED.replace(
                "    dialect", "    environment:\n      build:\n      - {name: a}\n      - {nam: b}\n    dialect"
            ),
            ", line 11: frameworks.awk.environment.build[2].nam is not a key:",
        ),
        (f"{DECLARED}also_called: &a [*a]\n", ", line 11: also_called=[[...]] is not a list of texts."),
    ],
)
def test_every_key_that_is_wrong_or_missing_is_told_with_the_line_that_it_stands_in(folder, text, sentence):
    (folder / "workload.yml").write_text(text)
    assert any(line.startswith(f"F/workload.yml{sentence}") for line in said(folder).splitlines()), said(folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: a\ntitle: b\n  unit: c\n", "F/workload.yml, line 3: mapping values are not allowed here."),
        ("name: a\nunit: b\nname: c\n", "F/workload.yml, line 3: the key name is there twice."),
        ("name: 'a\n", "F/workload.yml, line 2: found unexpected end of stream."),
        ("name: a\n\tunit: b\n", "F/workload.yml, line 2: found character '\\t' that cannot start any token."),
        ("name: !!python/object:os.system a\n", "F/workload.yml, line 1: could not determine a constructor for"),
        ("- name\n", "F/workload.yml is not a mapping of names to values."),
        ("", "F/workload.yml is not a mapping of names to values."),
    ],
)
def test_what_is_no_yaml_is_told_with_its_line(folder, text, sentence):
    (folder / "workload.yml").write_text(text)
    assert said(folder).startswith(sentence)


def test_keys_may_be_merged_and_are_not_taken_for_twice_the_same(folder):
    sizes = "presets:\n  lab: &lab {repeats: 1, minutes: 5, stalled_after: 60}\n  full: {<<: *lab, repeats: 3}\n"
    (folder / "workload.yml").write_text(DECLARED[: DECLARED.index("presets:")] + sizes)
    assert read_folder(folder, DIALECTS)["presets"]["full"]["minutes"] == 5


def test_a_folder_without_a_declaration_names_those_that_have_one(folder):
    with pytest.raises(
        ValueError, match=r"shel is not the folder of a workload: it has no workload\.yml; .* are shell\.$"
    ):
        load(folder.parent / "shel")
    (folder / "workload.yml").write_bytes(b"name: \xff\n")
    assert said(folder) == "F/workload.yml is not a text in UTF-8."


def test_files_of_any_kind_and_depth_travel_with_their_modes(folder, tmp_path):
    (folder / "model/v1").mkdir(parents=True)
    (folder / "model/v1/weights.bin").write_bytes(bytes(range(256)))
    (folder / ".config").write_text("kept")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/count.cpython-311.pyc").write_bytes(b"")
    (folder / "link.bin").symlink_to("model/v1/weights.bin")
    (folder / "latest").symlink_to("model/v1")
    (folder.parent / "common").mkdir()
    (folder.parent / "common/ranks.py").write_text("shared")
    (folder / "ranks.py").symlink_to("../common/ranks.py")
    code_files.unpack(code_files.pack(folder), tmp_path / "code")
    there = {str(path.relative_to(tmp_path / "code")) for path in (tmp_path / "code").rglob("*") if path.is_file()}
    weights = {"model/v1/weights.bin", "latest/weights.bin", "link.bin"}
    assert there == {"bin/count.sh", ".config", "ranks.py", *weights}
    assert (tmp_path / "code/ranks.py").read_text() == "shared"
    for name in weights:
        assert (tmp_path / "code" / name).read_bytes() == bytes(range(256))
        assert not (tmp_path / "code" / name).is_symlink()
    assert os.access(tmp_path / "code/bin/count.sh", os.X_OK)
    assert not os.access(tmp_path / "code/.config", os.X_OK)


def test_what_workloads_share_travels_beside_their_own_files(folder, tmp_path):
    (folder.parent / "common/deep").mkdir(parents=True)
    (folder.parent / "common/ranks.py").write_text("shared")
    (folder.parent / "common/deep/more.sh").write_text("")
    declare(folder, "bin/count.sh --limit 3", "ranks.py")
    assert said(folder).endswith("frameworks.awk.program names ranks.py, which F does not have.")
    text = f"{(folder / 'workload.yml').read_text()}shared: ../common\n"
    (folder / "workload.yml").write_text(text)
    assert read_folder(folder, DIALECTS)["frameworks"]["awk"]["program"] == "{python} {code}/ranks.py"
    names = code_files.unpack(packed(folder), tmp_path / "code")
    assert names == ["bin/count.sh", "deep/more.sh", "ranks.py"]
    assert (tmp_path / "code/ranks.py").read_text() == "shared"
    (folder / "ranks.py").write_text("own")
    assert said(folder).startswith("ranks.py is in F and in F/../common, which it shares: rename or remove one")
    for wrong in ("../comon", "/etc", "..", ".", "bin", "../shell/bin"):
        (folder / "workload.yml").write_text(text.replace("../common", wrong))
        assert (
            said(folder) == f"F/workload.yml, line 11: shared={wrong} is no folder beside F: name one, as in ../common."
        )


def test_a_workload_may_have_its_programs_from_another_one_and_what_that_shares(folder, tmp_path):
    (folder.parent / "common").mkdir()
    (folder.parent / "common/ranks.py").write_text("shared")
    (folder / "workload.yml").write_text(f"{(folder / 'workload.yml').read_text()}shared: ../common\n")
    other = folder.parent / "other"
    other.mkdir()
    text = (folder / "workload.yml").read_text().replace("../common", f"../{folder.name}")
    (other / "workload.yml").write_text(text)
    assert code_files.unpack(packed(other), tmp_path / "code") == ["bin/count.sh", "ranks.py"]
    (folder / "workload.yml").write_text(text.replace(f"../{folder.name}", "../other"))
    with pytest.raises(ValueError, match=r"shared=\.\./other is no folder beside .*: name one, as in \.\./common"):
        packed(other)


def test_everything_that_shipped_trainings_import_travels_with_them(tmp_path):
    """Links in their place were lost by a transport of the repository that knows plain files alone."""
    shipped = sorted(path.parent for path in (Path(__file__).parents[2] / "workloads").glob("*/workload.yml"))
    own = {path.stem for folder in shipped for path in folder.glob("*.py")}
    own |= {path.stem for path in (shipped[0].parent / "common").glob("*.py")}
    for folder in shipped:
        names = {
            name[:-3] for name in code_files.unpack(packed(folder), tmp_path / folder.name) if name.endswith(".py")
        }
        for name in names:
            tree = ast.parse((tmp_path / folder.name / f"{name}.py").read_text())
            imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            assert not (imported & own) - names, f"{folder.name}/{name}.py"


def test_what_cannot_travel_is_told(folder, monkeypatch):
    (folder / "data").symlink_to("/etc")
    assert "F/data is a link to /etc, which is outside of the workload's folder and of those" in said(folder)
    (folder / "data").unlink()
    (folder / "gone").symlink_to("nothing")
    assert said(folder) == "F/gone is a link to nothing, which is not there: copy that, too (cp -rL), or remove it."
    (folder / "gone").unlink()
    (folder / "bin/up").symlink_to("..")
    assert said(folder) == "F/bin/up is a link to F, in which it lies itself: remove it."
    (folder / "bin/up").unlink()
    os.mkfifo(folder / "pipe")
    assert said(folder).startswith("F/pipe is neither a file nor a folder")
    (folder / "pipe").unlink()
    monkeypatch.setattr(code_files, "MOST_MB", 1)
    (folder / "large.bin").write_bytes(bytes(2**20))
    assert said(folder).startswith("F holds 1 MB, the largest file is large.bin, and at most 1 MB travel with a run:")


@pytest.mark.parametrize("name", ["/etc/hosts", "../../up"])
def test_an_archive_writes_nothing_elsewhere(tmp_path, name):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO(b""))
    with pytest.raises(ValueError, match=f"{name} is no file of a workload's folder"):
        code_files.unpack(buffer.getvalue(), tmp_path / "a/b")


def test_modules_of_rackmark_that_a_program_imports_travel_with_it(folder, tmp_path):
    (folder / "count.py").write_text("from rackmark.node.host_power import HostPower\n")
    (folder / "broken.py").write_text("this is no Python")
    names = code_files.unpack(packed(folder), tmp_path / "code")
    modules = {"__init__.py", "node/__init__.py", "node/host_power.py", "node/processes.py", "node/watched_tool.py"}
    assert {name for name in names if name.startswith("rackmark")} == {f"rackmark/{module}" for module in modules}
    assert "broken.py" in names

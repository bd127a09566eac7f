"""FlagPerf's configuration files are read, and nothing in them is executed."""

from __future__ import annotations

import pytest
from rackmark.flagperf.config_file import read_part, read_whole


def whole(tmp_path, text: str) -> dict[str, object]:
    path = tmp_path / "test_conf.py"
    path.write_text(text)
    return read_whole(path).values


def refusal(tmp_path, text: str) -> str:
    with pytest.raises(ValueError) as refused:
        whole(tmp_path, text)
    return str(refused.value).replace(f"{tmp_path}/", "")


def test_values_are_literals_and_plus_and_times_of_them_and_of_earlier_names(tmp_path):
    text = """'''Test Configs'''
# -*-coding:utf-8 -*-
ROOT = "/home/FlagPerf/training"
LOGS = ROOT + "/result/"
OPTIONS = " --device=/dev/xpu0" + \\
          " --device=/dev/xpuctrl"
SIZE: int = 130 * 1024
RATE = -1.5
HOSTS = ["10.1.2.2"] + ["10.1.2.3"]
NOTHING = None
CASES = {"a:b:c:1:8:1": ROOT + "/data", "list": [1, (2, 3)], "nested": {"x": True}}
"""
    assert whole(tmp_path, text) == {
        "ROOT": "/home/FlagPerf/training",
        "LOGS": "/home/FlagPerf/training/result/",
        "OPTIONS": " --device=/dev/xpu0 --device=/dev/xpuctrl",
        "SIZE": 133120,
        "RATE": -1.5,
        "HOSTS": ["10.1.2.2", "10.1.2.3"],
        "NOTHING": None,
        "CASES": {"a:b:c:1:8:1": "/home/FlagPerf/training/data", "list": [1, [2, 3]], "nested": {"x": True}},
    }


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('VENDOR = os.getenv("VENDOR")', "VENDOR contains a call."),
        ("HOSTS = [host for host in range(3)]", "HOSTS contains a comprehension."),
        ('VENDOR = f"{NAME}"', "VENDOR contains a text with braces to be filled in."),
        ('VENDOR = MISSING + "x"', "VENDOR contains the name MISSING, which has no value before."),
        ("SIZE = 2 ** 10000000", "SIZE contains an operation other than + and *."),
        ('SIZE = "a" * 10000000', "SIZE contains a value that is too large."),
        ('SIZE = "a" + 1', "SIZE contains an operation on values that do not go together."),
        ("KEY = {[]: 1}", "KEY contains a key that is a list or a dict."),
        ("CASES = {'a': 1, 'a': 2}", "CASES contains the key 'a' for the second time, of which Python keeps the last"),
        ("CASES = {**OTHER}", "CASES contains another dict that is unpacked."),
        ("import os", "an import is not NAME = value."),
        ("from os import *", "an import is not NAME = value."),
        ("for x in [1]: HOSTS = x", "a loop is not NAME = value."),
        ("while True: pass", "a loop is not NAME = value."),
        ("if True: X = 1", "a condition is not NAME = value."),
        ("def f(): pass", "a function is not NAME = value."),
        ("CASES['a'] = 1", "this is not NAME = value."),
        ("CASES += {}", "this is not NAME = value."),
        ("print(1)", "a call is not NAME = value."),
    ],
)
def test_anything_else_is_refused_with_its_line(tmp_path, line, what):
    assert f"test_conf.py, line 2: {what}" in refusal(tmp_path, f"GOOD = 1\n{line}\n")


def test_all_places_are_told_at_once_with_what_to_write_instead(tmp_path):
    told = refusal(tmp_path, "A = f()\nB = 1\nC = g()\n")
    assert "line 1: A" in told and "line 3: C" in told and "line 2" not in told
    assert told.endswith("and of earlier names.")


@pytest.mark.parametrize("after", ["", "VENDOR = 'nvidia'\n"])
def test_a_call_is_refused_and_has_not_run(tmp_path, after):
    """Not even if another value follows."""
    touched = tmp_path / "touched"
    text = f'import os\nos.system("touch {touched}")\nVENDOR = os.system("touch {touched}")\n{after}'
    assert "line 3: VENDOR contains a call." in refusal(tmp_path, text)
    assert not touched.exists()


def test_what_python_cannot_read_is_named_with_its_line(tmp_path):
    assert refusal(tmp_path, "A = 1\nCASES = {\n").startswith("test_conf.py, line ")
    assert "cannot read this file" in refusal(tmp_path, "A = " + "(" * 100_000)
    assert "cannot be read: No such file" in missing(tmp_path)


def missing(tmp_path) -> str:
    with pytest.raises(ValueError) as refused:
        read_whole(tmp_path / "cluster_conf.py")
    return str(refused.value)


def test_each_name_and_entry_knows_its_line(tmp_path):
    path = tmp_path / "test_conf.py"
    path.write_text('A = 1\nCASES = {\n    # "old": 1,\n    "new": 2,\n}\nNAMES = [\n    "x",\n]\n')
    found = read_whole(path)
    assert found.at("CASES") == f"{path}, line 2"
    assert found.at("CASES", "new") == f"{path}, line 4"
    assert found.at("NAMES", "x") == f"{path}, line 7"


def part(tmp_path, text: str, common: str = "") -> tuple[dict[str, object], list[str]]:
    (tmp_path / "config_common.py").write_text(common)
    path = tmp_path / "config_A100x1x8.py"
    path.write_text(text)
    found = read_part(path)
    return found.values, [sentence.replace(f"{tmp_path}/", "") for sentence in found.unreadable.values()]


def test_settings_of_a_case_follow_what_they_import_and_come_before_it(tmp_path):
    common = "train_batch_size = 8\nfp16 = False\nlr = 0.1\n"
    text = "from config_common import *\n\nlr = 0.2\neval_batch_size = train_batch_size\n"
    assert part(tmp_path, text, common) == (
        {"train_batch_size": 8, "fp16": False, "lr": 0.2, "eval_batch_size": 8},
        [],
    )


def test_settings_that_cannot_be_read_are_listed_and_never_guessed(tmp_path):
    text = """import os
from torch.cuda.amp import GradScaler
from config_common import *
train_batch_size = 8
scaler = GradScaler(init_scale=2 ** 20)
home = os.path.join("a", "b")
path = home + "/c"
cfg = {"a": 1}
cfg["a"] = 2
if train_batch_size > 4:
    seed = 1
def helper():
    pass
"""
    values, sentences = part(tmp_path, text, "seed = 7\nlr = 0.1\n")
    assert values == {"train_batch_size": 8, "lr": 0.1}
    assert sentences == [
        "config_A100x1x8.py, line 5: scaler contains a call.",
        "config_A100x1x8.py, line 6: home contains a call.",
        "config_A100x1x8.py, line 7: path contains the name home, which has no value before.",
        "config_A100x1x8.py, line 9: this is not NAME = value: what it makes of cfg cannot be read.",
        "config_A100x1x8.py, line 10: a condition is not NAME = value: what it makes of seed cannot be read.",
    ]


def test_a_later_value_stands_for_one_that_could_not_be_read(tmp_path):
    assert part(tmp_path, "seed = f()\nseed = 3\n") == ({"seed": 3}, [])


def test_an_import_of_everything_that_is_not_there_is_named(tmp_path):
    _, sentences = part(tmp_path, "from config_elsewhere import *\n")
    assert sentences == ["config_A100x1x8.py, line 1: an import is not NAME = value."]


def test_files_that_import_each_other_end(tmp_path):
    values, _ = part(tmp_path, "from config_common import *\na = 1\n", "from config_A100x1x8 import *\nb = 2\n")
    assert values == {"a": 1, "b": 2}

"""What of a run's code goes to the bucket, and what its boot file tells a program of ours."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rackmark.modelarts.code import code_of, send
from rackmark.modelarts.credentials import Credentials
from rackmark.modelarts.errors import SettingsError, UploadError
from rackmark.modelarts.own_code import BOOT, PROGRAM, environments
from rackmark.modelarts.settings import refuse_others, settings_of
from rackmark.modelarts.store import Entry
from rackmark.node.job_record import JobRecord

ROOT = Path(__file__).parents[2]
BOOT_FILE = ROOT / "roles/modelarts/files/rackmark_boot.py"
KEYS = Credentials("AKXXXXXXXXXXXXXXXXXX", "sEcReTsEcReTsEcReTsEcReTsEcReT")


class Bucket:
    """Takes objects as the store does."""

    endpoint = "https://obs.example"

    def __init__(self):
        self.taken = {}

    def check(self, bucket):
        pass

    def listing(self, bucket, prefix):
        return {key: Entry(len(content), "", 0.0) for key, content in self.taken.items() if key.startswith(prefix)}

    def put(self, bucket, key, path, size, md5):
        self.taken[key] = path.read_bytes()


@pytest.fixture
def settings(tmp_path):
    code = tmp_path / "code"
    (code / "lib").mkdir(parents=True)
    (code / "train.py").write_text("print('train')\n")
    (code / "lib/more.py").write_text("")
    known = {"region": "cn-north-4", "project_id": "a1", "bucket": "bench", "code": str(code), "boot": "train.py"}
    return settings_of({**known, "endpoint": "https://m.example", "obs_endpoint": "https://obs.example"})


@pytest.fixture
def run_dir(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def sent(settings, run_dir):
    store = Bucket()
    record = send(code_of(settings, run_dir, BOOT_FILE, KEYS), store, settings, run_dir, lambda _: None)
    return record, {key.removeprefix("rackmark/run/code/"): content for key, content in store.taken.items()}


def test_the_operators_folder_goes_as_it_is(settings, run_dir):
    record, taken = sent(settings, run_dir)
    assert taken == {"train.py": b"print('train')\n", "lib/more.py": b""}
    assert (record["files"], record["sent_files"], record["sent_bytes"]) == (2, 2, 15)
    assert json.loads((run_dir / "upload.json").read_text()) == record


@pytest.mark.parametrize("own", [None, "export A=1", "export A=1\n"])
def test_single_server_mode_is_said_in_the_upload_alone(settings, run_dir, own):
    path = Path(settings.code) / "ma-pre-start.sh"
    if own is not None:
        path.write_text(own)
    _, taken = sent(replace(settings, single_server=True), run_dir)
    begin = "#!/bin/bash" if own is None else "export A=1"
    assert taken["ma-pre-start.sh"].decode() == f"{begin}\nexport SINGLESERVER_MODE=True\n"
    assert path.exists() == (own is not None)
    assert own is None or path.read_text() == own


def test_other_code_than_the_run_was_begun_with_is_refused(settings, run_dir):
    sent(settings, run_dir)
    sent(settings, run_dir)
    (Path(settings.code) / "lib/more.py").write_text("other")
    with pytest.raises(UploadError, match="is not what the run was begun with"):
        sent(settings, run_dir)


def test_a_workload_of_ours_goes_with_its_boot_file(settings, run_dir):
    (run_dir / "code").mkdir()
    (run_dir / "code/train.py").write_text("1")
    _, taken = sent(replace(settings, code="", boot=BOOT), run_dir)
    assert taken == {"train.py": b"1", BOOT: BOOT_FILE.read_bytes()}


def test_a_run_that_goes_on_refuses_other_values_and_takes_the_same(settings):
    begun = settings.data_for_json()
    given = {"region": "cn-north-4", "bucket": "bench", "code": settings.code, "single_server": False, "data": ""}
    refuse_others(given, begun, "r")
    with pytest.raises(SettingsError, match="with its original options, which have other values of modelarts_bucket"):
        refuse_others({**given, "bucket": "other"}, begun, "r")


def record(program, dataset=""):
    return JobRecord(
        name="n",
        case="1n2g",
        repeat=1,
        launcher="modelarts",
        nodes=1,
        devices_per_node=2,
        program=program,
        device="npu",
        minutes=1,
        stalled_after=1,
        dataset=dataset,
    )


@pytest.fixture
def uploading(settings, run_dir, monkeypatch):
    """The action on its way to a bucket: its result, and what it says meanwhile."""
    spec = importlib.util.spec_from_file_location("uploading", ROOT / "action_plugins/modelarts_upload.py")
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    monkeypatch.setattr(plugin, "store_of", lambda *_: Bucket())

    def upload(plan=None):
        secrets = {"modelarts_access_key": KEYS.access_key, "modelarts_secret_key": KEYS.secret_key}
        arguments = {"options": settings.data_for_json(), "secrets": secrets, "run_dir": str(run_dir), "plan": plan}
        task = SimpleNamespace(args=arguments, async_val=0, check_mode=False, action="modelarts_upload")
        connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/tmp/of/it"))
        action, lines = plugin.ActionModule(task, connection, None, None, None), []
        action._display = SimpleNamespace(display=lines.append)
        return action.run(task_vars={}), lines

    return upload


def test_an_upload_speaks_below_the_name_of_its_task(uploading):
    result, lines = uploading({"run_id": "r", "minutes": 480, "jobs": [{"nodes": 2, "devices_per_node": 8}]})
    assert lines[0] == "", "ends the line with the name"
    assert lines[1].startswith("    At most 128 device-hours: ")
    assert lines[2] == "    If this is interrupted, resume with run_modelarts.yml -e run_id=r."
    assert result["has_told"]
    result, lines = uploading()
    assert (result["sentence"], result["has_told"], lines) == ("15 bytes of code can be uploaded.", False, [])


def test_places_in_the_program_get_names_for_the_container():
    told = environments(record(["", "/r/code/train.py", "--data", "/bench/x/", "/r/coder"], "/bench/x/"), "/r")
    assert json.loads(told[PROGRAM]) == ["@python", "@code/train.py", "--data", "@data", "/r/coder"]


def boot(tmp_path, text, **environ):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / BOOT).write_bytes(BOOT_FILE.read_bytes())
    (tmp_path / "code/train.py").write_text(text)
    words = ["@python", "@code/train.py", "@data"]
    return subprocess.run(
        [
            sys.executable,
            tmp_path / "code" / BOOT,
            f"--train_url={tmp_path}/out",
            "--data_url=/cache/data",
            "--other=1",
        ],
        env={PROGRAM: json.dumps(words), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_rank_is_told_which_it_is_and_keeps_its_log(tmp_path):
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    text = f"import os, sys\nprint(*[os.environ[name] for name in {names}], sys.argv[1])\n"
    hosts = {"MA_NUM_HOSTS": "2", "VC_WORKER_HOSTS": "10.0.0.1,10.0.0.2"}
    done = boot(tmp_path, text, RANK_ID="11", RANK_SIZE="16", **hosts)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (tmp_path / "out/rank-11.log").read_text() == "11 16 3 8 10.0.0.1 29500 /cache/data\n"
    assert (tmp_path / "out/rank-11.exit").read_text() == "0\n"


def test_the_jobs_log_has_the_first_rank_and_the_end_of_one_that_failed(tmp_path):
    done = boot(tmp_path, "import sys\nprint('no data')\nsys.exit(3)\n", RANK_ID="1", RANK_SIZE="2", MA_NUM_HOSTS="1")
    assert (done.returncode, done.stdout) == (3, "no data\n")
    assert (tmp_path / "out/rank-1.exit").read_text() == "3\n"


def test_a_signal_is_told_as_shells_do(tmp_path):
    text = "import os\nprint('first', flush=True)\nos.kill(os.getpid(), 9)\n"
    assert boot(tmp_path, text, RANK_ID="0", RANK_SIZE="1").returncode == 137
    assert (tmp_path / "out/rank-0.log").read_text() == "first\n"


def test_a_record_of_a_cloud_names_the_launcher_and_others_do_not(tmp_path):
    spec = importlib.util.spec_from_file_location("filters", ROOT / "filter_plugins/rackmark.py")
    filters = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(filters)
    for run_id, launcher in (("a", "modelarts"), ("b", "local")):
        (tmp_path / "runs" / run_id).mkdir(parents=True)
        (tmp_path / "runs" / run_id / "manifest.json").write_text(json.dumps({"launcher": launcher, "workload": "w"}))
    found = {
        name: filters.of_begun_run(name, "launcher", "slurm", str(tmp_path)) for name in ("a", "b", "c", "", "../a")
    }
    assert found == {"a": "modelarts", "b": "slurm", "c": "slurm", "": "slurm", "../a": "slurm"}

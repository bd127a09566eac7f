"""What a run in ModelArts may be told, what ais-bench's own file says, and what is wrong in one sentence each."""

from __future__ import annotations

import pytest
from rackmark.modelarts.ais_bench_config import keys_in, read_config
from rackmark.modelarts.errors import SettingsError
from rackmark.modelarts.request import Attempt, attempt_named, check_size, job_request
from rackmark.modelarts.settings import read_settings, settings_of

SECRET = "sEcReTsEcReTsEcReTsEcReTsEcReT"
FILE = """
from easydict import EasyDict as ed
access_config = ed({
    # the account
    'access_key': 'AKXXXXXXXXXXXXXXXXXX',
    'secret_access_key': 'SECRET',
    'server': 'obs.cn-central-221.ovaijisuan.com',
    'region_name': 'cn-central-221',
    'project_id': '0123456789abcdef',
    'iam_endpoint': '', 'obs_endpoint': '',
    'modelarts_endpoint': 'https://modelarts.cn-central-221.ovaijisuan.com',
})
session_config = ed({
    'hyperparameters': [{'label': 'epoch_size', 'value': 90}, {'label': 'run_distribute', 'value': 'True'}],
    'inputs': '/bench/imagenet/',
    'code_dir': '/bench/code/',
    'boot_file': '/bench/code/resnet/train.py',
    'job_name': 'aisbench-debug',
    'framework_type': 'Ascend-Powered-Engine',
    'framework_version': 'MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64',
    'pool_id': None,
    'train_instance_type': 'modelarts.kat1.8xlarge',
    'train_instance_count': 2,
    'out_base_url': '/bench/out/',
})
""".replace("SECRET", SECRET)


@pytest.fixture
def given(tmp_path):
    (tmp_path / "code").mkdir()
    return {
        "region": "cn-north-4",
        "project_id": "0123456789abcdef",
        "bucket": "bench",
        "code": str(tmp_path / "code"),
        "boot": "train.py",
        "engine": "Ascend-Powered-Engine",
        "engine_version": "mindspore_1.3.0",
    }


def request(given, nodes=2, devices=8, minutes=480, **attempt):
    settings = read_settings(given, our_code=False).settings
    place = Attempt(**{"run_id": "20261118-101500-modelarts", "case": f"{nodes}n{devices}g", "repeat": 1, **attempt})
    return job_request(settings, place, nodes, devices, minutes, {})


def test_the_request_is_as_documented(given):
    given |= {"data": "obs://bench/imagenet", "parameters": {"epoch_size": 90}, "environments": {"GLOG_v": 3}}
    place = "/bench/rackmark/20261118-101500-modelarts"
    assert request(given) == {
        "kind": "job",
        "metadata": {
            "name": "rackmark-20261118-101500-modelarts-2n8g-1",
            "description": "Rackmark 20261118-101500-modelarts",
        },
        "algorithm": {
            "code_dir": f"{place}/code/",
            "boot_file": f"{place}/code/train.py",
            "engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": "mindspore_1.3.0"},
            "parameters": [{"name": "epoch_size", "value": "90"}],
            "inputs": [{"name": "data_url", "remote": {"obs": {"obs_url": "/bench/imagenet/"}}}],
            "outputs": [{"name": "train_url", "remote": {"obs": {"obs_url": f"{place}/2n8g/r1/out/"}}}],
            "environments": {"GLOG_v": "3"},
        },
        "spec": {
            "resource": {"node_count": 2, "flavor_id": "modelarts.kat1.8xlarge"},
            "log_export_path": {"obs_url": f"{place}/2n8g/r1/log/"},
            "auto_stop": {"time_unit": "HOURS", "duration": 8},
        },
    }


def test_a_pool_an_image_and_a_second_attempt(given):
    del given["engine"], given["engine_version"]
    body = request(given | {"image": "swr/own:1", "pool_id": "pool-1"}, minutes=61, number=2)
    assert body["spec"]["resource"] == {"node_count": 2, "pool_id": "pool-1"}
    assert body["algorithm"]["engine"] == {"image_url": "swr/own:1"}
    assert body["spec"]["auto_stop"]["duration"] == 2, "never less than asked for"
    assert body["algorithm"]["outputs"][0]["remote"]["obs"]["obs_url"].endswith("/2n8g/r1-a2/out/")
    assert body["metadata"]["name"].endswith("-2n8g-1-a2")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"region": ""}, "modelarts_region is empty: give -e modelarts_region="),
        ({"project_id": ""}, "modelarts_project_id is empty"),
        ({"project_id": "abc-1"}, "modelarts_project_id=abc-1 cannot be: use the letters and digits"),
        ({"bucket": ""}, "modelarts_bucket is empty"),
        ({"bucket": "/bench/x"}, "modelarts_bucket=/bench/x cannot be: use the bare name"),
        ({"region": "cn north"}, "modelarts_region=cn north cannot be"),
        ({"endpoint": "modelarts.example"}, "modelarts_endpoint is 'modelarts.example', which lacks https://"),
        ({"endpoint": "http://modelarts.example"}, "would send everything unencrypted"),
        ({"obs_endpoint": "https://user:word@obs.example"}, "more than a host and a port"),
        ({"ca_file": "/nowhere.pem"}, "modelarts_ca_file=/nowhere.pem is no file"),
        ({"obs_signature": "v5"}, "modelarts_obs_signature=v5 is unknown: use auto, obs, v2 or v4"),
        ({"obs_path_style": "maybe"}, "modelarts_obs_path_style=maybe is unknown: use auto, true or false"),
        ({"engine": ""}, "There is nothing to run the code in"),
        ({"engine_version": ""}, "There is nothing to run the code in"),
        ({"image": "own:1"}, "modelarts_image and modelarts_engine are both given"),
        ({"pool_id": "p", "flavors": {8: "other"}}, "modelarts_pool_id and modelarts_flavors are both given"),
        ({"flavors": {"eight": "other"}}, "modelarts_flavors has 'eight', which is no number of devices"),
        ({"parameters": {"a b": 1}}, "modelarts_parameters has 'a b'"),
        ({"environments": {"MA_JOB_DIR": "/x"}}, "ModelArts keeps names that begin with MA_ for itself"),
        ({"code": ""}, "modelarts_code is empty"),
        ({"code": "/nowhere"}, "modelarts_code=/nowhere is no folder"),
        ({"boot": ""}, "modelarts_boot is empty"),
        ({"data": "/"}, "modelarts_data=/ names no bucket"),
        ({"config": "/nowhere.py"}, "modelarts_config=/nowhere.py cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_is_one_sentence(given, change, words):
    with pytest.raises(SettingsError) as refused:
        read_settings(given | change, our_code=False)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_sizes_that_modelarts_does_not_have(given):
    settings = read_settings(given, our_code=False).settings
    for size, words in {
        (2, 4): "2n4g: ModelArts trains on several nodes with 8 devices each only.",
        (1, 3): "1n3g: modelarts_flavors names no server with 3 devices, only with 1, 2, 4, 8.",
    }.items():
        with pytest.raises(SettingsError) as refused:
            check_size(settings, *size)
        assert str(refused.value) == words
    with pytest.raises(SettingsError, match="is longer than the 64 letters"):
        request(given, run_id="20261118-101500-" + "x" * 40)


def test_our_own_code_brings_its_boot_file(given):
    del given["code"]
    with pytest.raises(SettingsError, match=r"modelarts_boot=train\.py has no use"):
        read_settings(given, our_code=True)
    with pytest.raises(SettingsError, match="modelarts_single_server=true is for ais-bench's trainings"):
        read_settings(given | {"boot": "", "single_server": True}, our_code=True)
    assert read_settings(given | {"boot": ""}, our_code=True).settings.code == ""


def test_names_of_jobs_tell_runs_and_attempts_apart():
    run_id = "20261118-101500-modelarts"
    for attempt in (Attempt(run_id, "2n8g", 3), Attempt(run_id, "16n8g", 12, 4), Attempt(run_id + "-2", "1n1g", 1)):
        assert attempt_named(attempt.run_id, attempt.name) == attempt
    assert attempt_named(run_id, Attempt(run_id + "-2", "1n1g", 1).name) is None
    assert Attempt("r.1", "1n1g", 1).name == "rackmark-r_1-1n1g-1"


def test_ais_benchs_file_fills_what_is_not_given(tmp_path, given):
    path = tmp_path / "code/config/modelarts_config.py"
    (tmp_path / "code/code").mkdir()
    path.parent.mkdir()
    path.write_text(FILE)
    path.chmod(0o600)
    read = read_settings({"config": str(path), "region": "", "flavors": {}, "parameters": {}}, our_code=False)
    settings = read.settings
    assert (read.cases, list(read.warnings)) == ("2n8g", [])
    assert (settings.region, settings.project_id, settings.bucket) == ("cn-central-221", "0123456789abcdef", "bench")
    assert settings.endpoint == "https://modelarts.cn-central-221.ovaijisuan.com"
    assert settings.obs_endpoint == "https://obs.cn-central-221.ovaijisuan.com"
    assert (settings.code, settings.boot) == (str(tmp_path / "code/code"), "resnet/train.py")
    assert settings.parameters == {"epoch_size": "90", "run_distribute": "True"}
    assert (settings.data, settings.flavors) == ("/bench/imagenet/", {"8": "modelarts.kat1.8xlarge"})
    other = read_settings({"config": str(path), "bucket": "mine", "boot": "other.py"}, our_code=False).settings
    assert (other.bucket, other.boot, other.region) == ("mine", "other.py", "cn-central-221")

    # Its keys are used and not copied.
    assert SECRET not in str(settings.data_for_json())
    assert keys_in(path) == {"modelarts_access_key": "AKXXXXXXXXXXXXXXXXXX", "modelarts_secret_key": SECRET}
    assert settings_of(settings.data_for_json()) == settings
    path.chmod(0o644)
    assert read_config(path).warnings == [f"{path} holds keys, and others can read it: chmod 600 {path}."]


def test_the_newer_interface_of_the_file_wins(tmp_path):
    path = tmp_path / "config.py"
    newer = "session_config_v2 = ed({'parameters': [{'name': 'a', 'value': 1}], 'pool_id': 'p', 'code_dir': '/b/c/'})"
    path.write_text(FILE + newer)
    read = read_config(path)
    assert (read.settings["parameters"], read.settings["pool_id"], read.cases) == ({"a": "1"}, "p", "1n8g")
    assert "flavors" not in read.settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("access_config = {", "line 1 is not Python that can be read"),
        ("access_config = ed(open('/etc/passwd'))", "line 1: access_config is not made of plain values"),
        (FILE.replace("2,", "__import__('os').system('touch ran'),"), "session_config is not made of plain values"),
        (FILE.replace("'train_instance_count': 2", "'train_instance_count': 'two'"), "is no number of servers"),
        (FILE.replace("'label': 'epoch_size', ", ""), "a parameter lacks its name or its value"),
        (FILE.replace("[{'label': 'epoch_size', 'value': 90}, ", "[7, "), "not a list of names and values"),
        ("other = 1", "has no session_config"),
        ("\0", "is not Python that can be read"),
        ("x" * (1 << 20) + "y", "is larger than 1 MB"),
    ],
)
def test_a_file_of_ais_bench_is_read_and_never_executed(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.py"
    path.write_text(text)
    with pytest.raises(SettingsError) as refused:
        read_config(path)
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)
    assert not (tmp_path / "ran").exists()


def test_saving_inside_the_measurement_is_warned_about(given):
    parameters = {"epoch_size": 90, "save_checkpoint_epochs": 5}
    (warning,) = read_settings(given | {"parameters": parameters}, our_code=False).warnings
    assert "save_checkpoint_epochs=5 is not epoch_size=90" in warning

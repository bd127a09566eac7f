"""Which values every option of every role takes, and how wrong ones are refused."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml
from rackmark.inventory_check import limits, values
from rackmark.inventory_check.mappings import MAPPINGS
from rackmark.role_specs import load_yaml, read_roles, without_null

ROOT = Path(__file__).parents[2]
ROLES = read_roles(ROOT / "roles")
COMMAND_LINE = without_null(load_yaml(ROOT / "roles/cluster/vars/main/command_line.yml")["_cluster_command_line"])
SPECS = {**COMMAND_LINE, **{name: spec for role in ROLES for name, spec in role.options.items()}}
HOSTS = ["head", "node1", "node2"]
SHA256 = "0123456789abcdef" * 4


def said(name, value):
    return [f"{fault.what}: {fault.fix}" for fault in values.faults(name, SPECS[name], value, HOSTS)]


def leaves(name, spec):
    """Options and those inside them that hold values themselves."""
    if not spec.get("options"):
        return [(name, spec)]
    return [leaf for key, inner in spec["options"].items() for leaf in leaves(f"{name}.{key}", inner)]


def is_limited_by_its_type(spec):
    return spec.get("choices") or spec.get("type") == "bool"


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_option_has_a_limit_if_it_is_only_any(role):
    found = [leaf for name, spec in role.options.items() for leaf in leaves(name, spec)]
    assert [name for name, spec in found if "limit" not in spec and not is_limited_by_its_type(spec)] == []
    for name, spec in found:
        if "limit" in spec and spec["limit"] not in MAPPINGS:
            assert limits.limit(spec["limit"]).words, name


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_limit_is_that_of_an_option(role):
    def unknown(given, options, within=""):
        for name, limit in given.items():
            if name not in options:
                yield within + name
            elif isinstance(limit, dict):
                yield from unknown(limit, options[name].get("options", {}), f"{within}{name}.")

    given = yaml.safe_load((ROOT / "roles" / role.name / "meta/limits.yml").read_text())
    assert list(unknown(given, role.options)) == []


def test_numbers_on_the_command_line_have_limits():
    numbers = [name for name, spec in COMMAND_LINE.items() if spec["type"] in ("int", "float")]
    assert [name for name in numbers if "limit" not in COMMAND_LINE[name]] == []


@pytest.mark.parametrize("words", ["prot", "5 to", "0 or prot", ""])
def test_a_limit_that_means_nothing_is_refused(words):
    with pytest.raises(ValueError, match="is no limit: use a range, a number, auto, empty, or one of any, host"):
        limits.limit(words)


RIGHT = {
    "prometheus_port": [9090, "9090", 65535],
    "grafana_port": [443, 3000],
    "prometheus_listen_address": ["0.0.0.0", "192.0.2.1"],
    "prometheus_retention_time": ["365d", "1y", "1d12h", "90d"],
    "prometheus_retention_size": ["500MB", "20GB"],
    "prometheus_memory_max": ["50%", "4G", "512M"],
    "prometheus_scrape_interval": [5, "60"],
    "prometheus_external_labels": [{"site": "paris", "rack": 3}],
    "prometheus_storage_path": ["/data/prometheus"],
    "slurm_check_interval": [0, 5, "300"],
    "slurm_config": [{"MessageTimeout": 20, "SchedulerParameters": ["a", "b"], "Prolog": None, "DebugFlags": ""}],
    "slurm_partitions": [
        [{"name": "train", "options": {"MaxTime": "1-0", "OverSubscribe": None, "Hidden": True, "PriorityTier": 2}}]
    ],
    "slurm_state_dir": ["/userhome/slurm"],
    "slurm_health_disk_folders": [["/", "/tmp"]],
    "cluster_shared_dir": ["/userhome", "/home", "/mnt/lustre", "/data/my_cluster-1"],
    "cluster_devices_per_node": ["auto", 0, "8"],
    "cluster_user": ["rackmark", "bench_1"],
    "benchmark_repeats": ["", 3, "3"],
    "benchmark_telemetry_seconds": [0, 0.1, 5],
    "munge_key_base64": ["", base64.b64encode(bytes(range(32))).decode(), base64.encodebytes(bytes(1024)).decode()],
    "monitoring_access_password": ["", "twelve-chars"],
    "grafana_admin_password": ["", "e1ght-ch"],
    "base_proxy": [{"http": "http://user:p%40ss@proxy:3128", "except": [".example.org", "10.0.0.0/8"]}],
    "base_pip_options": [{"index-url": "https://mirror.example.org/simple", "timeout": 60}],
    "base_apt_sources": [["deb [trusted=yes] https://mirror.example.org/debian bookworm main"]],
    "base_packages": [["htop", "libc6:arm64", "vim=2:9.0"]],
    "alertmanager_webhooks": [["https://chat.example.org/hook/T0?x=1"]],
    "ascend_user_id": [None, 1000],
    "ascend_device_addresses": [[{"address": "192.168.100.101/24", "detect": "192.168.100.1"}]],
    "nvidia_archive": [
        [{"name": "libnvidia-container1", "version": "1.17.8-1", "url": "file:///x/a.deb", "sha256": SHA256}]
    ],
    "grafana_archive": [
        {},
        {"version": "12.1.0", "sha256": SHA256.upper(), "url": "https://example.org/grafana.tar.gz"},
    ],
    "grafana_config": [{"smtp": {"enabled": True, "host": "mail:25"}}],
    "docker_repository": [{}, {"url": "https://download.docker.com/linux/debian", "key": "-----BEGIN PGP PUBLIC KEY"}],
    "base_time_source": ["node1"],
    "cases": ["1n1g,2n8g", "bert:pytorch_1.8:A100_40_SXM:1:8:3:TP1:PP2", ""],
    "nodes": [4, "4", "node1", "node[1-2],head", ""],
    "hours": ["12", 0.5],
    "target": ["accuracy >= 0.72", "loss<=1"],
    "tolerance": ["3%", "0.5 %"],
    "run_id": ["20261118-101500-resnet50", "latest"],
    "image": ["pytorch:2.13", "registry.example.org:5000/a/b_c@sha256:" + SHA256, "nvcr.io/nvidia/pytorch:24.01-py3"],
    "benchmark_dir": ["/userhome/rackmark", "~/bench", "/tmp/x", "~rackmark/bench"],
    "benchmark_sbatch_options": [["--comment=measured", "-A account", "--exclude=node3"]],
    "benchmark_partition": ["gpu,debug"],
    "slurm_node_options": [{"Features": "a100", "weight": 10}],
    "slurm_database_config": [{"PurgeJobAfter": "12months", "ArchiveJobs": True, "PrivateData": None}],
    "nfs_mount_options": [["vers=4.2", "hard", "timeo=600", "sec=sys", "nfsvers=3", "noac", "actimeo=3", "async"]],
    "prometheus_arguments": [["--log.level=debug", "--enable-feature=a,b", "--web.enable-lifecycle"]],
    "alertmanager_email": [
        {"to": "Ops <ops@example.org>, me@example.org", "from": "r@example.org", "smarthost": "mail.example.org:587"}
    ],
    "alertmanager_receivers": [[{"name": "chat", "webhook_configs": []}]],
    "firewall_ports": [[22, "8000-8010"]],
    "lab_cpu_share": ["auto", "0.9", 0.4],
    "wait": [0, "3600"],
    "batch_size": [1, "25%", "100%"],
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_values(name):
    assert [said(name, value) for value in RIGHT[name]] == [[]] * len(RIGHT[name])


HIDDEN = " is wrong (its value is not shown)"
PATH = "use an absolute path of letters, digits and . _ - + @ : without .. in it"
NO_SHARED_FOLDER = ["/", "//", "/.", "/etc", "/etc/", "//etc/slurm", "/x/../..", "/x$(reboot)", "/x y", "x", "/usr/x"]
NO_SHARED_FOLDER += ["/var", "/var/lib/", "/x;y", ""]
SIZES = ("0", "-1", "banana", "0%", "150%")
USERS = ("root", "munge", "Me", "systemd-network")
PACKAGE = {"name": "ab", "version": "1", "url": "http://a", "sha256": SHA256}
# By what to do: an option, a wrong value, and what is said of it.
WRONG = {
    "use a port from 1024 to 65535.": [
        ("prometheus_port", 70000, " is 70000"),
        ("prometheus_port", 22, " is 22"),
        ("node_exporter_port", "-1", " is '-1'"),
    ],
    "use a port from 1 to 65535.": [("grafana_port", 0, " is 0")],
    "use an IPv4 address of the host, or 0.0.0.0 for all that it has.": [
        ("prometheus_listen_address", "everywhere", " is 'everywhere'"),
        ("grafana_listen_address", "::1", " is '::1'"),
    ],
    "use a time as Prometheus writes it, as in 90d or 1y.": [
        ("prometheus_retention_time", "banana", " is 'banana'"),
        ("prometheus_retention_time", "0d", " is '0d'"),
        ("alertmanager_repeat", "4 h", " is '4 h'"),
    ],
    "use a size as Prometheus writes it, as in 500MB or 20GB.": [("prometheus_retention_size", "20 GB", " is '20 GB'")],
    "use a size as systemd writes it, 128M or more, as in 4G or 50%.": [
        ("prometheus_memory_max", "1", " is '1'"),
        ("prometheus_memory_max", "101%", " is '101%'"),
    ],
    "use 5 to 60 seconds.": [("prometheus_scrape_interval", 0, " is 0")],
    "use 20 to 150.": [("prometheus_alert_temperature", "nan", " is 'nan'")],
    "use 0, or 5 to 65535 seconds.": [("slurm_check_interval", -3, " is -3")],
    "use 0 to 50.": [("slurm_health_disk_free_percent", 101, " is 101")],
    "use 0.001 to 60 seconds.": [("slurm_health_clock_skew", -1, " is -1")],
    "use 10 to 100.": [("slurm_memory_percent", 0, " is 0")],
    "use 1024 to 1048576.": [("base_open_files", -5, " is -5")],
    "use a number of seconds, 0 or more.": [("wait", -5, " is -5")],
    "use 1 to 1000.": [("repeats", -1, " is -1")],
    "use 1 to 1000, or leave it empty.": [("benchmark_repeats", "0", " is '0'")],
    "use 1000 to 60000.": [("cluster_user_uid", 99, " is 99"), ("cluster_user_uid", 60001, " is 60001")],
    "use auto, or 0 to 999.": [("cluster_devices_per_node", "all", " is 'all'")],
    "use a whole number of nodes, at least 1, or a share of them from 1% to 100%.": [
        ("batch_size", size, f" is '{size}'") for size in SIZES
    ],
    "use a host of the inventory (did you mean node1?).": [("base_time_source", "nod1", " is 'nod1'")],
    "use a host of the inventory.": [("munge_controller", "192.0.2.1", " is '192.0.2.1'")],
    "write it in one line.": [
        ("slurm_config", {"Epilog": "/a\nSlurmUser=root"}, ".Epilog is '/a SlurmUser=root'"),
        ("slurm_partitions", [{"name": "a", "options": {"MaxTime": "1\nx"}}], "[0].options.MaxTime is '1 x'"),
        ("grafana_config", {"smtp": {"password": "a\nb"}}, f".smtp.password{HIDDEN}"),
    ],
    "name parameters with letters, digits, - _ and . alone.": [("slurm_config", {"A\nB": 1}, ".A B is 1")],
    "use text, a number, or a list of them.": [("slurm_config", {"A": {"b": 1}}, ".A is a mapping")],
    "use text or a number.": [("base_pip_options", {"index-url": ["a"]}, ".index-url is a list")],
    "write it without spaces.": [("slurm_node_options", {"Features": "a b"}, ".Features is 'a b'")],
    "use a name of letters, digits, -, _ and dots, other than all and default.": [
        ("slurm_partitions", [{"name": "a b"}], "[0].name is 'a b'")
    ],
    "use a mapping of the section's settings.": [("grafana_config", {"smtp": "on"}, ".smtp is 'on'")],
    "use a line of sources.list: deb or deb-src, a URL, a suite and its components.": [
        ("base_apt_sources", ["deb x\ndeb y"], "[0] is 'deb x deb y'")
    ],
    "use a URL that begins with http:// or https://.": [
        ("base_proxy", {"http": "proxy:3128"}, ".http is 'proxy:3128'"),
        ("base_proxy", {"http": 'http://me:s3/cret@p"'}, ".http is 'http://***@p\"'"),
    ],
    "name labels with letters, digits and _ alone.": [("prometheus_external_labels", {"a-b": 1}, ".a-b is 1")],
    "use the list of the account's users, as in [rackmark].": [("slurm_database_accounts", {"a": "b"}, ".a is 'b'")],
    "use what ssh-keygen -l prints: SHA256: and 43 characters.": [
        ("bootstrap_fingerprints", {"node1": "b"}, ".node1 is 'b'")
    ],
    "use the 64 hexadecimal digits that sha256sum prints.": [
        ("nvidia_archive", [{**PACKAGE, "sha256": "abc"}], "[0].sha256 is 'abc'")
    ],
    "use a URL that begins with http:// or https:// and has no user and password.": [
        ("docker_registry_mirrors", ["https://me:s3cret@mirror"], "[0] is 'https://***@mirror'")
    ],
    "use a URL that begins with http://, https:// or file:/// and has no user and password.": [
        (
            "nvidia_archive",
            [{**PACKAGE, "url": "https://me:s3cret@mirror/a.deb"}],
            "[0].url is 'https://***@mirror/a.deb'",
        )
    ],
    "give one of them.": [
        ("nvidia_archive", [{**PACKAGE, "url": None}], "[0] has neither file nor url"),
        ("grafana_package", {**PACKAGE, "file": "a"}, " has file and url"),
    ],
    "give all of url, key, or leave nvidia_repository empty.": [
        ("nvidia_repository", {"url": "https://example.org"}, " has no key")
    ],
    "give all of url, key, or leave docker_repository empty.": [
        ("docker_repository", {"suite": "stable"}, " has no url and no key")
    ],
    "give all of to, from, smarthost, or leave alertmanager_email empty.": [
        ("alertmanager_email", {"to": "a@example.org"}, " has no from and no smarthost")
    ],
    "use the path of a file on the control machine, or leave it empty.": [
        ("base_ca_bundle", "/no/such/file", " is '/no/such/file'")
    ],
    f"use {limits.limit('munge_key').words}, or leave it empty.": [
        ("munge_key_base64", "%%%%", HIDDEN),
        ("munge_key_base64", "YWJj", HIDDEN),
    ],
    f"use {limits.limit('monitoring_password').words}, or leave it empty.": [
        ("monitoring_access_password", "short", HIDDEN),
        ("monitoring_access_password", "pa$$word-of-exporters", HIDDEN),
    ],
    f"use {limits.limit('grafana_password').words}, or leave it empty.": [("grafana_admin_password", "short", HIDDEN)],
    f"use {limits.limit('slurmdbd_password').words}, or leave it empty.": [
        ("slurm_database_password", "with'quotes", HIDDEN)
    ],
    f"use {limits.limit('user').words}.": [("cluster_user", user, f" is '{user}'") for user in USERS],
    "use small letters, digits, - and _, as Slurm does in its accounting.": [
        ("cluster_name", "My Cluster", " is 'My Cluster'")
    ],
    f"{PATH.replace(' :', '')}, which is no folder of the system or of a service, as in /userhome.": [
        ("cluster_shared_dir", path, f" is '{path}'") for path in NO_SHARED_FOLDER
    ],
    f"{PATH}, which is a folder of its own, as in /var/lib/name.": [("slurm_state_dir", "/home", " is '/home'")],
    f"{PATH}.": [("slurm_health_disk_folders", ["/a\n/b"], "[0] is '/a /b'")],
}


@pytest.mark.parametrize("fix", WRONG)
def test_a_wrong_value_is_named_with_what_to_do(fix):
    for name, value, what in WRONG[fix]:
        assert said(name, value) == [f"{name}{what}: {fix}"]

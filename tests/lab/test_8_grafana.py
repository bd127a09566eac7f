"""Grafana's role with packages that simulate Grafana: from every source, with its secrets and files."""

from __future__ import annotations

import configparser
import json
import shlex
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from lab import stub_grafana
from lab.cluster import SUBNET, Cluster, Play

GATEWAY = SUBNET.rpartition(".")[0] + ".1"
OLDER, NEWER, ARCHIVED = "12.0.0", "12.1.0", "13.0.0"
PASSWORD_FILE = "/etc/grafana/rackmark-admin-password"
VAULT = "of-the-vault-42"


@dataclass
class Monitored:
    """The head of a cluster that has nothing else on it, and where Grafana comes from."""

    cluster: Cluster
    source: stub_grafana.Source

    def play(self, *, tags: str = "grafana", cmdline: str = "", verbosity: int = 0, **variables: Any) -> Play:
        chosen = {"grafana_repository": self.source.repository, **variables}
        options = f"--tags {tags} {cmdline}"
        return self.cluster.play("tests/lab/grafana.yml", cmdline=options, verbosity=verbosity, **chosen)

    def on(self, command: str, check: bool = True) -> str:
        return self.cluster.on("head", command, check=check)

    def password(self) -> str:
        return self.on(f"cat {PASSWORD_FILE}")

    def ask(self, place: str, options: str = "", address: str = "https://127.0.0.1:3000") -> str:
        return self.on(f"curl --silent --cacert /etc/rackmark/monitoring/ca.pem {options} {address}{place}")

    def lets_in(self, password: str) -> bool:
        login = shlex.quote(f"admin:{password}")
        return self.ask("/api/user", f"--output /dev/null --write-out '%{{http_code}}' --user {login}") == "200"

    def health(self, **address: str) -> dict[str, str]:
        return json.loads(self.ask("/api/health", **address))

    def started(self) -> str:
        return self.cluster.service_started("head", "grafana-server")

    def resets(self) -> list[str]:
        return self.on("cat /var/lib/grafana/resets-simulated 2>/dev/null || true").splitlines()

    def settings(self) -> configparser.RawConfigParser:
        parser = configparser.RawConfigParser()
        parser.read_string(self.on("cat /etc/grafana/grafana.ini"))
        return parser


@pytest.fixture(scope="module")
def blank(no_cluster, tmp_path_factory):
    no_cluster.boot_for("two nodes", lab_nodes=2)
    source = stub_grafana.make_source(tmp_path_factory.mktemp("grafana"), GATEWAY, OLDER, NEWER, ARCHIVED)
    no_cluster.on(
        "head", "command -v curl >/dev/null || (apt-get update && apt-get install --yes curl) >/dev/null 2>&1"
    )
    yield Monitored(no_cluster, source)
    source.close()


def test_without_a_source_grafana_is_left_out_and_it_is_said_what_to_set(blank):
    said = blank.play(grafana_repository={}).succeeded()
    assert all(name in said.output for name in ("grafana_repository", "grafana_package", "grafana_archive"))
    assert said.changed == []


def test_check_mode_on_a_blank_host(blank):
    blank.play(tags="all", cmdline="--check --diff").succeeded()
    blank.play(cmdline="--check", grafana_repository={}, grafana_archive=blank.source.archive(ARCHIVED)).succeeded()
    assert blank.on("ls -d /etc/grafana /opt/grafana* /etc/apt/sources.list.d/rackmark* 2>/dev/null || true") == ""


def test_an_archive_on_a_host_that_never_had_the_package(blank):
    archive = {**blank.source.archive(OLDER), "url": f"{blank.source.server.url}/grafana-{OLDER}.linux-amd64.tar.gz"}
    del archive["file"]
    offline = {"grafana_repository": {}, "grafana_archive": archive}
    blank.play(tags="all", **offline).succeeded()
    assert blank.health()["version"] == OLDER
    assert blank.lets_in(blank.password())
    assert blank.play(**offline).succeeded().changed == []


@pytest.fixture(scope="module")
def monitored(blank):
    blank.play(tags="all", grafana_version=OLDER).succeeded()
    return blank


def test_grafana_from_a_signed_repository_works(monitored):
    assert monitored.health() == {"database": "ok", "version": OLDER, "commit": "simulated"}
    assert monitored.on("systemctl is-enabled grafana-server") == "enabled"
    assert monitored.on("ss --listening --tcp --numeric --no-header 'sport = 3000'").split()[3] == "127.0.0.1:3000"
    assert "trusted" not in monitored.on("cat /etc/apt/sources.list.d/rackmark-grafana.sources")


def test_nobody_gets_in_without_the_password_that_was_made_up(monitored):
    assert len(monitored.password()) >= 24
    assert monitored.lets_in(monitored.password())
    assert not monitored.lets_in("admin")
    assert monitored.resets() == []  # Grafana took it from the file when it made its database


def test_settings_close_what_grafana_leaves_open(monitored):
    settings = monitored.settings()
    off = {
        ("auth.anonymous", "enabled"),
        ("users", "allow_sign_up"),
        ("users", "allow_org_create"),
        ("users", "viewers_can_edit"),
        ("analytics", "reporting_enabled"),
        ("analytics", "check_for_updates"),
        ("analytics", "check_for_plugin_updates"),
        ("news", "news_feed_enabled"),
        ("snapshots", "external_enabled"),
        ("public_dashboards", "enabled"),
        ("plugins", "preinstall_auto_update"),
        ("security", "allow_embedding"),
        ("metrics", "enabled"),
    }
    assert {place for place in off if settings.get(*place) != "false"} == set()
    assert settings.get("security", "disable_gravatar") == "true"
    assert settings.get("security", "cookie_samesite") == "strict"


def test_secrets_are_in_files_that_only_root_and_grafana_read(monitored):
    rights = monitored.on("stat --format='%a %U %G' /etc/grafana/rackmark-* /etc/grafana/grafana.ini").splitlines()
    files = [line for line in rights if not line.startswith("755 root")]  # the folder of dashboards
    assert set(files) == {"640 root grafana"}
    assert monitored.on("stat --format=%a /var/lib/grafana") == "750"
    settings = monitored.settings()
    assert settings.get("security", "admin_password") == f"$__file{{{PASSWORD_FILE}}}"
    assert settings.get("security", "secret_key") == "$__file{/etc/grafana/rackmark-secret-key}"


def test_data_sources_and_dashboards_are_provisioned(monitored):
    folder = "/etc/grafana/provisioning"
    sources = yaml.safe_load(monitored.on(f"cat {folder}/datasources/rackmark.yml"))["datasources"]
    assert [(source["uid"], source["type"]) for source in sources] == [
        ("rackmark-prometheus", "prometheus"),
        ("rackmark-alertmanager", "alertmanager"),
    ]
    assert not any(source["editable"] for source in sources)
    for source in sources:
        assert source["url"].startswith("https://127.0.0.1:")
        assert source["secureJsonData"]["basicAuthPassword"] == "$__file{/etc/rackmark/monitoring/password}"
    (provider,) = yaml.safe_load(monitored.on(f"cat {folder}/dashboards/rackmark.yml"))["providers"]
    assert (provider["folder"], provider["allowUiUpdates"], provider["disableDeletion"]) == ("Rackmark", False, True)
    names = monitored.on(f"ls {provider['options']['path']}").split()
    assert names
    for name in names:
        assert json.loads(monitored.on(f"cat {provider['options']['path']}/{name}"))["uid"]


def test_the_unit_is_confined(monitored):
    shown = monitored.on("systemctl show --property=ProtectSystem,NoNewPrivileges,CapabilityBoundingSet grafana-server")
    assert set(shown.splitlines()) == {"ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="}


def test_a_second_run_changes_nothing(monitored):
    started = monitored.started()
    assert monitored.play(grafana_version=OLDER).succeeded().changed == []
    assert monitored.play(grafana_version=OLDER, cmdline="--check --diff").succeeded().changed == []
    assert monitored.started() == started


def test_a_newer_package_brings_its_version_and_leaves_the_files(monitored):
    password = monitored.password()
    monitored.play(grafana_version=NEWER).succeeded()
    assert monitored.health()["version"] == NEWER
    assert monitored.lets_in(password)
    assert monitored.play().succeeded().changed == []


def test_a_changed_setting_restarts_grafana_and_a_dashboard_does_not(monitored):
    monitored.play(grafana_port=443, grafana_config={"users": {"default_theme": "light"}}).succeeded()
    assert monitored.health(address="https://127.0.0.1")["database"] == "ok"
    assert monitored.settings().get("users", "default_theme") == "light"
    assert monitored.settings().get("users", "allow_sign_up") == "false"
    monitored.play().succeeded()
    started = monitored.started()
    dashboard = monitored.on("ls -d /etc/grafana/rackmark-dashboards/* | head -1")
    monitored.on(f"echo '{{}}' > {dashboard}")
    assert len(monitored.play().succeeded().changed) == 1
    assert json.loads(monitored.on(f"cat {dashboard}"))["uid"]
    assert monitored.started() == started


def test_a_file_that_changed_while_no_play_looked_restarts_grafana(monitored):
    """As when a play was cut off after it wrote the file, or another role replaced the password for Prometheus."""
    started = monitored.started()
    monitored.on("cp -a /etc/grafana/grafana.ini /etc/grafana/.copy; mv /etc/grafana/.copy /etc/grafana/grafana.ini")
    assert monitored.play().succeeded().changed == ["head: Run Grafana"]
    assert monitored.started() != started
    assert monitored.play().succeeded().changed == []


def test_a_password_of_the_vault_takes_effect_and_is_shown_nowhere(monitored):
    before = monitored.password()
    said = monitored.play(cmdline="--diff", verbosity=3, grafana_admin_password=VAULT).succeeded()
    assert VAULT not in said.output
    assert before not in said.output
    assert monitored.lets_in(VAULT)
    assert not monitored.lets_in(before)
    (reset,) = monitored.resets()
    assert "--password-from-stdin" in reset
    assert VAULT not in reset
    assert monitored.play(grafana_admin_password=VAULT).succeeded().changed == []
    assert len(monitored.resets()) == 1


def test_a_password_that_grafana_was_not_told_of_is_told_by_the_next_run(monitored):
    monitored.on("mv /usr/share/grafana/bin/grafana /usr/share/grafana/bin/away")
    failed = monitored.play(cmdline="--diff", verbosity=3, grafana_admin_password="another-password")
    failed.failed_with("Grafana does not take its administrator's new password")
    assert "another-password" not in failed.output
    monitored.on("mv /usr/share/grafana/bin/away /usr/share/grafana/bin/grafana")
    monitored.play(grafana_admin_password="another-password").succeeded()
    assert monitored.lets_in("another-password")
    assert monitored.on("ls /etc/grafana/*.next 2>/dev/null || true") == ""


def test_a_password_that_grafana_cannot_take_is_refused(monitored):
    monitored.play(grafana_admin_password="short").failed_with("grafana_admin_password cannot be used: use a password")
    broken = monitored.play(tags="monitoring_access", monitoring_access_password="pa$$word-of-exporters", verbosity=3)
    broken.failed_with("monitoring_access_password cannot be used: use a password of 12 to 72 printable ASCII")
    assert "pa$$word" not in broken.output


def test_a_password_is_rotated_while_grafana_runs(monitored):
    before, started = monitored.password(), monitored.started()
    said = monitored.play(tags="rotate", cmdline="--diff", verbosity=3).succeeded()
    after = monitored.password()
    assert after not in said.output
    assert after != before
    assert monitored.lets_in(after)
    assert not monitored.lets_in(before)
    assert monitored.started() == started


def test_a_password_that_somebody_changed_in_grafana_stays(monitored):
    command = "runuser --user=grafana -- /usr/share/grafana/bin/grafana cli --config=/etc/grafana/grafana.ini"
    monitored.on(f"echo changed-by-hand | {command} admin reset-admin-password --password-from-stdin")
    assert monitored.play().succeeded().changed == []
    assert monitored.lets_in("changed-by-hand")


def test_grafana_from_a_package_file(monitored):
    wrong = {**monitored.source.package(OLDER), "sha256": "0" * 64}
    monitored.play(grafana_repository={}, grafana_package=wrong).failed_with("0" * 64)
    offline = {"grafana_repository": {}, "grafana_package": monitored.source.package(OLDER)}
    monitored.play(**offline).succeeded()
    assert monitored.health()["version"] == OLDER
    assert monitored.on("ls /etc/apt/sources.list.d /etc/apt/keyrings | grep rackmark || true") == ""
    assert monitored.play(**offline).succeeded().changed == []


def test_an_archive_takes_the_place_of_the_package(monitored):
    offline = {"grafana_repository": {}, "grafana_archive": monitored.source.archive(ARCHIVED)}
    monitored.play(**offline).succeeded()
    assert monitored.health()["version"] == ARCHIVED
    assert monitored.on("readlink /opt/grafana") == f"grafana-{ARCHIVED}"
    assert monitored.on(f"stat --format='%a %U' /opt/grafana-{ARCHIVED}/bin/grafana") == "755 root"
    assert monitored.play(**offline).succeeded().changed == []


def test_without_tls_grafana_is_asked_in_the_clear(monitored):
    monitored.play(monitoring_access_tls=False).succeeded()
    assert monitored.health(address="http://127.0.0.1:3000")["database"] == "ok"
    assert monitored.settings().get("security", "cookie_secure") == "false"
    assert "basicAuth" not in monitored.on("cat /etc/grafana/provisioning/datasources/rackmark.yml")

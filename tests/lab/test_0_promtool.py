"""What Rackmark writes for Prometheus and Alertmanager, as their own checkers see it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import host_packages
import pytest
from lab.rendered_roles import ROOT, render
from rackmark.formats.prometheus_text import prometheus_text
from unit.run_fixture import break_repeat, summary_of, write_run

RULE_TESTS = sorted((ROOT / "tests/rules").glob("*.yml"))
OWN_RULES = """
groups:
  - name: ours
    rules:
      - alert: RoomTooWarm
        expr: room_celsius > 30
        annotations: {summary: "{{ $labels.room }} has {{ $value }} degrees"}
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """From the distribution's packages, unpacked and not installed: these would start services."""
    folder = tmp_path_factory.mktemp("prometheus")
    host_packages.apt_get("update")
    host_packages.apt_get("download", "prometheus", "prometheus-alertmanager", folder=folder)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)
    return folder / "usr/bin"


def said(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, check=False, **options)
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture(scope="module")
def promtool(tools):
    return lambda metrics: said(tools / "promtool", "check", "metrics", input=metrics)


@pytest.mark.parametrize("cases", [{"1n1g": [0.5, 0.4], "2n1g": [0.5, 0.45], "2n2g": [0.5]}, {"2n1g": [0.5]}])
def test_promtool_has_nothing_to_say(tmp_path, promtool, cases):
    write_run(tmp_path, cases, run_id='a "b" \\ ünï')
    assert promtool(prometheus_text(summary_of(tmp_path))) == (0, "")


def test_nor_about_a_run_in_which_nothing_is_ok(tmp_path, promtool):
    write_run(tmp_path, {"1n1g": [0.5], "2n1g": [0.5]})
    break_repeat(tmp_path, "1n1g", 1)
    break_repeat(tmp_path, "2n1g", 1, "NODE_FAIL")
    assert promtool(prometheus_text(summary_of(tmp_path))) == (0, "")


def test_promtool_does_complain(promtool):
    status, answer = promtool(b'# HELP a_seconds Time.\n# TYPE a_seconds gauge\na_seconds{quantile="0.5"} 1\n')
    assert status != 0 and 'should not have "quantile" label' in answer


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """What role prometheus writes with its defaults."""
    return render("prometheus", tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """The same with everything set that shapes its files."""
    folder = tmp_path_factory.mktemp("chosen")
    (folder / "ours.yml").write_text(OWN_RULES)
    return render(
        "prometheus",
        folder,
        monitoring_access_tls=False,
        cluster_shared_dir="/srv/data/shared",
        slurm_check_interval=0,
        prometheus_listen_address="0.0.0.0",
        prometheus_storage_path="/data/prometheus",
        prometheus_retention_time="2y",
        prometheus_retention_size="500GB",
        prometheus_scrape_interval=5,
        prometheus_external_labels={"site": "north"},
        prometheus_scrape_configs=[{"job_name": "room", "static_configs": [{"targets": ["192.0.2.99:9000"]}]}],
        prometheus_rule_files=[str(folder / "ours.yml")],
        prometheus_alert_temperature=70,
        prometheus_arguments=["--log.level=debug"],
    )


@pytest.mark.parametrize("files", ["usual", "chosen"])
def test_promtool_accepts_the_configuration_and_the_rules(tools, request, files):
    etc = request.getfixturevalue(files) / "etc/prometheus"
    config = etc / "prometheus.yml"
    config.write_text(config.read_text().replace("/etc/prometheus", str(etc)))
    status, answer = said(tools / "promtool", "check", "config", config)
    assert status == 0 and "3 rule files found" in answer and "WARNING" not in answer, answer


def test_what_is_set_is_in_the_files(chosen):
    arguments = (chosen / "etc/default/prometheus").read_text()
    config = (chosen / "etc/prometheus/prometheus.yml").read_text()
    rules = (chosen / "etc/prometheus/rules/rackmark.yml").read_text()
    for word in ("path=/data/prometheus", "time=2y", "size=500GB", "address=0.0.0.0:9090", "--log.level=debug"):
        assert word in arguments
    assert "web.config" not in arguments and "https" not in config and "password" not in config
    assert '{"cluster": "render", "site": "north"}' in config and "192.0.2.99:9000" in config
    assert "[2m]) > 70" in rules and 'mountpoint="/srv/data/shared"' in rules and "HealthCheckSilent" not in rules
    assert "{{ $labels.room }}" in (chosen / "etc/prometheus/rules/site.yml").read_text()


def test_everything_is_scraped_encrypted_and_with_the_password_unless_said_otherwise(usual):
    config = (usual / "etc/prometheus/prometheus.yml").read_text()
    assert config.count("scheme: https") == config.count("password_file:") == config.count("ca_file:") == 7
    assert "--web.config.file=/etc/rackmark/monitoring/web.yml" in (usual / "etc/default/prometheus").read_text()


@pytest.mark.parametrize("story", RULE_TESTS, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_not_otherwise(tools, usual, tmp_path, story):
    for rules in (usual / "etc/prometheus/rules").iterdir():
        shutil.copy(rules, tmp_path)
    status, answer = said(tools / "promtool", "test", "rules", shutil.copy(story, tmp_path), cwd=tmp_path)
    assert status == 0, answer


def test_an_alert_that_is_late_is_noticed(tools, usual, tmp_path):
    for rules in (usual / "etc/prometheus/rules").iterdir():
        text = rules.read_text().replace("for: 1m\n", "for: 9m\n")
        (tmp_path / rules.name).write_text(text)
    story = shutil.copy(ROOT / "tests/rules/hosts.yml", tmp_path)
    status, answer = said(tools / "promtool", "test", "rules", story, cwd=tmp_path)
    assert status != 0 and "HostDown" in answer


RECEIVERS = {
    "nobody": {},
    "webhook": {"alertmanager_webhooks": ["https://hooks.example.org/a?b=c"], "monitoring_access_tls": False},
    "mail": {
        "alertmanager_email": {
            "to": "ops@example.org",
            "from": "cluster@example.org",
            "smarthost": "mail.example.org:587",
            "username": "cluster",
            "password": 'it\'s a "secret": #1',
        }
    },
    "own": {
        "alertmanager_receivers": [{"name": "pager", "pagerduty_configs": [{"service_key": "abc"}]}],
        "alertmanager_routes": [
            {"receiver": "pager", "match": {"severity": "critical"}, "continue": True},
            {"receiver": "none", "match": {"alertname": "DiskNearlyFull"}},
        ],
        "alertmanager_webhooks": ["http://192.0.2.1/hook", "http://192.0.2.2/hook"],
        "alertmanager_repeat": "1d",
    },
}


@pytest.fixture(scope="module", params=RECEIVERS)
def alertmanager(request, tmp_path_factory):
    """How alerts are sent, and what role alertmanager writes for it."""
    folder = render("alertmanager", tmp_path_factory.mktemp("alertmanager"), **RECEIVERS[request.param])
    return request.param, Path(folder / "etc/prometheus/alertmanager.yml")


def receivers_of(tools, config, *labels):
    command = ["config", "routes", "test", f"--config.file={config}", *labels]
    status, answer = said(tools / "amtool", *command)
    assert status == 0, answer
    return answer.partition("\n")[0]


def test_amtool_accepts_the_configuration_and_sends_alerts_where_they_belong(tools, alertmanager):
    kind, config = alertmanager
    status, answer = said(tools / "amtool", "check-config", config)
    assert status == 0, answer
    expected = {"nobody": "none", "webhook": "rackmark", "mail": "rackmark", "own": "pager"}
    assert receivers_of(tools, config, "severity=critical", "alertname=HostDown") == expected[kind]
    if kind == "own":
        assert receivers_of(tools, config, "severity=warning", "alertname=ClockSkew") == "rackmark"
        assert receivers_of(tools, config, "severity=warning", "alertname=DiskNearlyFull") == "none"

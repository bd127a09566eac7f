"""metrics.prom as Prometheus' own checker sees it."""

from __future__ import annotations

import subprocess

import pytest
from rackmark.report.prometheus_text import prometheus_text
from unit.run_fixture import break_repeat, summary_of, write_run


@pytest.fixture(scope="module")
def promtool(tmp_path_factory):
    """From the distribution's package, unpacked and not installed: the package would start a service."""
    folder = tmp_path_factory.mktemp("prometheus")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    subprocess.run(["apt-get", "download", "-qq", "prometheus"], cwd=folder, check=True)
    (package,) = folder.glob("prometheus_*.deb")
    subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)

    def check(metrics):
        command = [str(folder / "usr/bin/promtool"), "check", "metrics"]
        done = subprocess.run(command, input=metrics, capture_output=True, check=False)
        return done.returncode, (done.stdout + done.stderr).decode()

    return check


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
    status, said = promtool(b'# HELP a_seconds Time.\n# TYPE a_seconds gauge\na_seconds{quantile="0.5"} 1\n')
    assert status != 0 and 'should not have "quantile" label' in said

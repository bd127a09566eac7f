"""What the monitoring of a cluster says while things go wrong in it, and afterwards."""

from __future__ import annotations

import time

import pytest
from lab.accelerated import LAB
from lab.monitored import ADDRESSES, EMPTY_WHEN_WELL, HOSTS, UNITS, answered, panels_without_an_answer, told
from lab.monitoring import FOLDER

ROLES_WITH_SECRETS = (
    *(
        "munge",
        "base",
        "slurm_database",
        "monitoring_access",
        "node_exporter",
        "accelerator_exporter",
        "slurm_exporter",
    ),
    *("prometheus", "alertmanager", "grafana"),
)


class Troubles:
    """A device that is gone, a tool that hangs, a host without power: all at once, since alerts take their minutes."""

    def __init__(self, monitored, whole):
        self.monitored, self.cluster, self.whole = monitored, monitored.cluster, whole
        self.cluster.kill_power("node3")
        self.began = time.monotonic()
        self.cluster.on("node1", "mv /dev/nvidia5 /root/nvidia5")
        self.cluster.on("node2", "pkill -STOP -f 'npu-smi [i]nfo watch'")
        self.cluster.on("node1", "rackmark-health || true")

    def mend(self):
        self.cluster.on(
            "node1", "if test -e /root/nvidia5; then mv /root/nvidia5 /dev/; rackmark-health; fi", check=False
        )
        self.cluster.on("node2", "pkill -CONT -f 'npu-smi [i]nfo watch'", check=False)
        self.whole.play("playbooks/lab_up.yml", **LAB).succeeded()

    def fires(self, alert, host):
        self.monitored.wait_until_fires(alert, host)

    def clears(self, alert, host):
        self.monitored.wait_until_clear(alert, host)


@pytest.fixture(scope="module")
def troubles(monitored, whole):
    troubles = Troubles(monitored, whole)
    yield troubles
    troubles.mend()


@pytest.fixture(scope="module")
def mended(troubles):
    troubles.mend()
    return troubles


def test_a_hanging_npu_smi_is_said_and_holds_no_scrape_up(monitored, troubles):
    url, down = f"https://{ADDRESSES['node2']}:9401/metrics", 'rackmark_accelerator_reader_up{vendor="ascend"} 0'
    troubles.cluster.wait_until(lambda: down in monitored.scrape(url), "the exporter says that npu-smi hangs", 180)
    assert monitored.targets()["accelerator", "node2"] == "up"


def test_a_device_that_vanishes_drains_its_node_and_alerts(monitored, troubles):
    assert troubles.cluster.node_states()["node1"] == "drained"
    troubles.fires("DeviceLost", "node1")
    lost = monitored.query("rackmark_accelerator_lost == 1")
    assert [(sample.labels["instance"], sample.labels["device"]) for sample in lost] == [("node1", "5")]
    assert monitored.value('rackmark_accelerator_visible_devices{instance="node1"}') == 7


def test_a_host_without_power_alerts_and_somebody_is_told(monitored, troubles):
    troubles.fires("HostDown", "node3")
    assert time.monotonic() - troubles.began > 30  # one lost scrape is no alert
    # One cause, one alert.
    assert not {alert for alert, host in monitored.firing() if host == "node3"} - {"HostDown"}
    expected = ("HostDown", "node3", "firing")
    troubles.cluster.wait_until(lambda: expected in told(monitored), "somebody is told", 180, pause=3)


def test_a_node_that_takes_no_jobs_alerts(monitored, troubles):
    troubles.fires("NodeOutOfService", "node1")
    assert not EMPTY_WHEN_WELL & panels_without_an_answer(monitored)


def test_all_alerts_end_with_their_causes(monitored, mended):
    for alert, host in (("DeviceLost", "node1"), ("NodeOutOfService", "node1"), ("HostDown", "node3")):
        mended.clears(alert, host)
    up = 'rackmark_accelerator_reader_up{vendor="ascend"}'
    mended.cluster.wait_until(lambda: monitored.value(up) == 1, "npu-smi is read again", 180, pause=3)
    monitored.wait_until_all_are_up()
    mended.cluster.wait_until_idle()


def test_a_controller_that_hangs_is_said_and_holds_no_scrape_up(monitored):
    cluster, url = monitored.cluster, f"https://{ADDRESSES['head']}:9402/metrics"
    cluster.on("head", "systemctl kill --kill-who=main --signal=STOP slurmctld")
    try:
        silent = 'rackmark_slurm_query_up{query="jobs"} 0'
        cluster.wait_until(lambda: silent in monitored.scrape(url), "the exporter says that Slurm is silent", 180)
        assert int(cluster.on("head", "pgrep -c -u rackmark-exporter 'squeue|sinfo|scontrol' || true")) <= 3
        assert monitored.targets()["slurm", "head"] == "up"
    finally:
        cluster.on("head", "systemctl kill --kill-who=main --signal=CONT slurmctld")
    up = 'rackmark_slurm_query_up{query="jobs"}'
    cluster.wait_until(lambda: monitored.value(up) == 1, "Slurm is asked again", 180, pause=3)


def test_a_play_that_was_cut_off_before_a_restart_is_made_good_by_the_next(monitored, whole):
    cluster = monitored.cluster
    cluster.on("node1", "touch /etc/default/prometheus-node-exporter")  # as if it had just been written
    cluster.on("head", "touch /etc/prometheus/rules/rackmark.yml")
    started = cluster.service_started("head", "prometheus")
    roles = "--tags node_exporter,prometheus --limit head,node1"
    again = whole.play("site.yml", cmdline=roles).succeeded()
    assert sorted(again.changed) == ["head: Run Prometheus", "node1: Run the node exporter"]
    assert cluster.service_started("head", "prometheus") == started  # reloaded
    assert whole.play("site.yml", cmdline=roles).succeeded().changed == []


def test_new_secrets_reach_every_host_and_no_scrape_is_lost_for_long(monitored, whole):
    before = monitored.cluster.on("head", f"cat {FOLDER}/password")
    whole.play("playbooks/rotate_secrets.yml").succeeded()
    assert monitored.cluster.on("head", f"cat {FOLDER}/password") != before
    assert answered(f"https://{ADDRESSES['node1']}:9100/metrics", before) == 401
    monitored.wait_until_all_are_up()
    assert whole.play("site.yml", cmdline=f"--tags {','.join(ROLES_WITH_SECRETS)}").succeeded().changed == []


@pytest.mark.parametrize("host", HOSTS)
def test_everything_is_back_after_the_power_was_cut(monitored, whole, host):
    if host == HOSTS[0]:
        for each in HOSTS:
            monitored.cluster.kill_power(each)
        whole.play("playbooks/lab_up.yml", **LAB).succeeded()
    states = [monitored.cluster.on(host, f"systemctl is-active {unit} || true") for unit in UNITS[host]]
    assert dict(zip(UNITS[host], states)) == dict.fromkeys(UNITS[host], "active")
    if host == HOSTS[-1]:
        monitored.wait_until_all_are_up()

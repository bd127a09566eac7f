"""What the monitoring of a cluster says while things go wrong in it, and afterwards."""

from __future__ import annotations

import time

import pytest
from lab.accelerated import LAB
from lab.monitored import ADDRESSES, EMPTY_WHEN_WELL, HOSTS, UNITS, answered, panels_without_an_answer, told
from lab.monitoring import FOLDER


def test_a_device_that_vanishes_drains_its_node_and_alerts_until_it_is_back(monitored):
    cluster = monitored.cluster
    cluster.on("node1", "mv /dev/nvidia5 /root/nvidia5")
    try:
        cluster.on("node1", "rackmark-health || true")
        assert cluster.node_states()["node1"] == "drained"
        monitored.wait_until_fires("DeviceLost", "node1")
        lost = monitored.query("rackmark_accelerator_lost == 1")
        assert [(sample.labels["instance"], sample.labels["device"]) for sample in lost] == [("node1", "5")]
        assert monitored.value('rackmark_accelerator_visible_devices{instance="node1"}') == 7
        monitored.wait_until_fires("NodeOutOfService", "node1")
        assert not EMPTY_WHEN_WELL & panels_without_an_answer(monitored)
    finally:
        cluster.on("node1", "mv /root/nvidia5 /dev/nvidia5; rackmark-health || true")
    cluster.wait_until_idle()
    monitored.wait_until_clear("DeviceLost", "node1")
    monitored.wait_until_clear("NodeOutOfService", "node1")


def test_a_hanging_npu_smi_is_said_in_time_and_passes(monitored):
    cluster, url = monitored.cluster, f"https://{ADDRESSES['node2']}:9401/metrics"
    tool = cluster.on("node2", "command -v npu-smi")
    cluster.on("node2", f"pkill -STOP -f 'npu-smi [i]nfo watch' && readlink -f {tool}")
    try:

        def reader_is_down() -> bool:
            began = time.monotonic()
            text = monitored.scrape(url)
            assert time.monotonic() - began < 5
            return 'rackmark_accelerator_reader_up{vendor="ascend"} 0' in text

        cluster.wait_until(reader_is_down, "the exporter says that npu-smi hangs", 90, pause=2)
    finally:
        cluster.on("node2", "pkill -CONT -f 'npu-smi [i]nfo watch' || true")
    up = 'rackmark_accelerator_reader_up{vendor="ascend"}'
    cluster.wait_until(lambda: monitored.value(up) == 1, "it is read again", 180, pause=3)


def test_a_controller_that_hangs_is_said_in_time_and_passes(monitored):
    cluster, url = monitored.cluster, f"https://{ADDRESSES['head']}:9402/metrics"
    cluster.on("head", "systemctl kill --kill-who=main --signal=STOP slurmctld")
    try:

        def says_it() -> bool:
            began = time.monotonic()
            text = monitored.scrape(url)
            assert time.monotonic() - began < 5
            return 'rackmark_slurm_query_up{query="jobs"} 0' in text

        cluster.wait_until(says_it, "the exporter says that Slurm does not answer", 120, pause=2)
        assert int(cluster.on("head", "pgrep -c -u rackmark-exporter 'squeue|sinfo|scontrol' || true")) <= 3
    finally:
        cluster.on("head", "systemctl kill --kill-who=main --signal=CONT slurmctld")
    up = 'rackmark_slurm_query_up{query="jobs"}'
    cluster.wait_until(lambda: monitored.value(up) == 1, "Slurm is asked again", 120, pause=3)


def test_a_host_without_power_alerts_until_it_is_back(monitored, whole):
    cluster = monitored.cluster
    cluster.kill_power("node3")
    began = time.monotonic()
    try:
        monitored.wait_until_fires("HostDown", "node3")
        assert time.monotonic() - began > 30  # one lost scrape is no alert
        assert not {alert for alert, host in monitored.firing() if host == "node3"} - {
            "HostDown"
        }  # one cause, one alert
        cluster.wait_until(lambda: ("HostDown", "node3", "firing") in told(monitored), "somebody is told", 90, pause=3)
    finally:
        whole.play("playbooks/lab_up.yml", **LAB).succeeded()
    monitored.wait_until_clear("HostDown", "node3")
    monitored.wait_until_all_are_up()


def test_a_play_that_was_cut_off_before_a_restart_is_made_good_by_the_next(monitored, whole):
    cluster = monitored.cluster
    cluster.on("node1", "touch /etc/default/prometheus-node-exporter")  # as if it had just been written
    cluster.on("head", "touch /etc/prometheus/rules/rackmark.yml")
    started = cluster.service_started("head", "prometheus")
    roles = "--tags node_exporter,prometheus --limit head,node1"
    again = whole.play("site.yml", cmdline=roles).succeeded()
    assert sorted(again.changed) == ["head: Run Prometheus", "node1: Run it"]
    assert cluster.service_started("head", "prometheus") == started  # reloaded
    assert whole.play("site.yml", cmdline=roles).succeeded().changed == []


def test_targets_come_and_go_with_their_hosts_and_prometheus_runs_on(monitored, whole):
    started = monitored.cluster.service_started("head", "prometheus")
    whole.play("playbooks/remove_nodes.yml", nodes="node3").succeeded()
    monitored.cluster.wait_until(lambda: ("node", "node3") not in monitored.targets(), "node3 is no target", pause=2)
    assert monitored.cluster.on("node3", f"ls {FOLDER}").split() == ["ca.pem", "certificate.pem"]
    assert answered(f"https://{ADDRESSES['node3']}:9100/metrics") is None
    whole.play("playbooks/add_nodes.yml", nodes="node3").succeeded()
    monitored.cluster.wait_until(lambda: monitored.targets().get(("node", "node3")) == "up", "node3 is up", pause=2)
    assert monitored.cluster.service_started("head", "prometheus") == started


def test_new_secrets_reach_every_host_and_no_scrape_is_lost_for_long(monitored, whole):
    before = monitored.cluster.on("head", f"cat {FOLDER}/password")
    whole.play("playbooks/rotate_secrets.yml").succeeded()
    assert monitored.cluster.on("head", f"cat {FOLDER}/password") != before
    assert answered(f"https://{ADDRESSES['node1']}:9100/metrics", before) == 401
    monitored.wait_until_all_are_up()
    assert whole.play("site.yml").succeeded().changed == []


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

"""playbooks/validate.yml on inventories as operators write them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from unit.validate_fixture import (
    ROOT,
    inventory,
)


def test_a_right_inventory(validate):
    status, output = validate(inventory({"cluster_shared_dir": "/data/{{ site }}", "site": "paris"}))
    assert status == 0, output
    assert "3 hosts and 2 variables checked; SSH was not asked." in output


def test_all_problems_at_once_before_any_host_is_touched(validate):
    wrong = inventory(
        {
            "slurm_partitons": [],
            "cluster_name": "{{ no_such_variable }}",
            "cluster_user_uid": "ten",
            "benchmark_threads": "{{ ansible_facts['processor_cores'] }}",  # not known yet, and so no problem
            "slurm_own_name": "mine",  # read by another variable, and so no problem
            "slurm_cluster_name": "{{ slurm_own_name }}",
        },
        node1={"cluster_accelerator": "{{ 'nvid' }}"},
        node2={"base_proxy": {"htp": "http://proxy"}, "ansible_host": "127.0.0.11"},
    )
    arguments = ("-e", "node=4", "-e", "repeats=five", "-e", "lab_subnet=10.1.0.0/24")
    status, output = validate(wrong, *arguments, playbook="site.yml")
    assert status == 2
    said = [line.strip() for line in output.partition("FAILED at")[2].partition("PLAY RECAP")[0].strip().splitlines()][
        1:
    ]
    assert said == [
        "base_proxy has 'htp' (node2): use one of except, http, https (did you mean http?).",
        "cluster_accelerator is 'nvid' (node1): use one of auto, nvidia, ascend, none (did you mean nvidia?).",
        "cluster_name cannot be worked out (all hosts): 'no_such_variable' is undefined.",
        "cluster_user_uid is 'ten' (all hosts): use a whole number.",
        "node is not a variable that a playbook knows (-e): did you mean nodes?",
        "node1 and node2 have the same address 127.0.0.11, port 9: correct ansible_host of one.",
        "repeats is 'five' (-e): use a whole number.",
        "slurm_partitons is not a variable of role slurm (all hosts): did you mean slurm_partitions?",
    ]
    assert "UNREACHABLE" not in output


def test_values_that_would_break_a_host_later_are_refused_now(validate, tmp_path):
    wrong = inventory(
        {
            "cluster_shared_dir": "/x/../..",
            "slurm_partitions": [{"name": "x", "nodes": "nosuch"}],
            "base_time_source": "nod1",
            "base_open_files": "{{ 0 - 5 }}",
        },
        node1={"ansible_hst": "127.0.0.11", "clutser_notes": ["x"]},
        node2={"ansible_host": "2001:db8::2"},
    )
    wrong["all"]["children"]["monitoring_server"] = {"hosts": {"head": {"prometheus_port": 9093}}}
    extra = tmp_path / "extra.yml"
    extra.write_text(
        json.dumps(
            {"munge_key_base64": "%%s3cret%%", "slurm_config": {"Epilog": "/a\nSlurmUser=root", "SlurmdTimeot": 9}}
        )
    )
    status, output = validate(
        wrong, "-e", f"@{extra}", *("-e", "prometheus_retention_time=banana", "-e", "wait=-5", "-e", "nodes=nod1")
    )
    assert status == 2
    problems = [
        "ansible_host is the IPv6 address 2001:db8::2 (node2): use the host's IPv4 address",
        "ansible_hst is not a variable that Ansible knows (node1): did you mean ansible_host?",
        "clutser_notes is not a variable that a role knows (node1): did you mean cluster_notes?",
        "base_open_files is -5 (all hosts): use 1024 to 1048576.",
        "base_time_source is 'nod1' (all hosts): use a host of the inventory (did you mean node1?).",
        "cluster_shared_dir is '/x/../..' (all hosts): use an absolute path",
        "munge_key_base64 is wrong (its value is not shown) (-e): use the base64 text of 32 to 1024 random bytes",
        "prometheus_port and alertmanager_port have the same port 9093 (head): give each a port of its own.",
        "prometheus_retention_time is 'banana' (-e): use a time as Prometheus writes it",
        "slurm_config.Epilog is '/a SlurmUser=root' (-e): write it in one line.",
        "slurm_config.SlurmdTimeot is 9 (-e): did you mean SlurmdTimeout?",
        "nodes has 'nod1', which is no number and no host or group of the inventory (-e): did you mean node1?",
        "slurm_partitions[0].nodes has 'nosuch', which is no host of slurm_compute: use ALL, a group",
        "wait is '-5' (-e): use a number of seconds, 0 or more.",
    ]
    assert [problem for problem in problems if problem not in output] == []
    assert output.partition("FAILED at")[2].partition("PLAY RECAP")[0].count(": ") >= len(problems)
    assert "s3cret" not in output


def test_an_inventory_without_a_cluster_says_what_to_do(validate):
    for playbook in ("site.yml", "run_resnet.yml"):
        status, output = validate("{}", playbook=playbook)
        assert status == 2
        assert "lab_up.yml" in output


def test_hosts_that_do_not_answer_are_named_and_those_outside_the_limit_left_alone(validate):
    status, output = validate(inventory({"cluster_probe": True}))
    assert status == 2
    assert "SSH does not answer (connection refused) (all hosts): start it or correct its address." in output
    status, output = validate(inventory({"cluster_probe": True}, head={"ansible_connection": "local"}))
    assert status == 2
    assert "or leave it out with --limit 'all:!node1:!node2'." in output
    status, output = validate(inventory({"cluster_probe": True}), "--limit", "node2")
    assert status == 2
    assert "SSH does not answer (connection refused) (node2): start it" in output


def test_hosts_reached_by_other_ways_are_counted(validate):
    behind = {"cluster_probe": True, "ansible_ssh_common_args": "-o ProxyJump=bastion"}
    status, output = validate(inventory(behind, node2={"ansible_connection": "local"}))
    assert status == 0, output
    assert "SSH answers on 0, 3 reached by other ways were not asked." in output


def test_hosts_on_their_way_out_count_no_more(validate):
    gone = inventory({"cluster_probe": True, "cluster_leaving": ["head", "node1", "node2"]})
    status, output = validate(gone)
    assert status == 2
    assert "The inventory has 0 hosts in slurm_controller and 0 in slurm_compute" in output
    assert "SSH does not answer" not in output


def test_secrets_are_never_shown(validate, tmp_path):
    secret = tmp_path / "secret.yml"
    secret.write_text(json.dumps({"base_proxy": {"http_password": "s3cret-text"}}))
    status, output = validate(inventory(), "-e", f"@{secret}", "-vvv")
    assert status == 2
    assert "base_proxy has 'http_password' (-e)" in output
    assert "s3cret-text" not in output


def test_what_is_encrypted_is_never_shown(validate, tmp_path):
    password = tmp_path / "password"
    password.write_text("word")
    vault = [
        str(Path(sys.executable).with_name("ansible-vault")),
        "encrypt_string",
        "--vault-password-file",
        str(password),
    ]
    encrypted = subprocess.run([*vault, "hidden-text"], capture_output=True, text=True, check=True).stdout
    extra = tmp_path / "extra.yml"
    extra.write_text(
        "cluster_user_uid: " + encrypted + "cluster_shared_storage: '{{ own_text }}'\nown_text: " + encrypted
    )
    status, output = validate(inventory(), "-e", f"@{extra}", "--vault-password-file", str(password), "-vvv")
    assert status == 2
    assert "cluster_user_uid is wrong (its value is not shown) (-e): use a whole number." in output
    assert "cluster_shared_storage is wrong (its value is not shown) (-e): use one of nfs, existing." in output
    assert "hidden-text" not in output


def test_a_playbook_without_a_cluster_can_check_variables_alone(validate, tmp_path):
    playbook = tmp_path / "alone.yml"
    roles = [
        {"ansible.builtin.import_role": {"name": "cluster", "tasks_from": "variables", "rolespec_validate": False}}
    ]
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": roles}]))
    assert validate("{}", playbook=playbook)[0] == 0
    status, output = validate("{}", "-e", "lab_node=3", playbook=playbook)
    assert status == 2
    assert "lab_node is not a variable of role lab (-e): did you mean lab_nodes?" in output
    assert "slurm_controller" not in output


def test_a_second_run_on_the_same_cluster_says_who_holds_it(validate, tmp_path):
    """The first one waits for a host that takes connections and never answers."""
    with socket.create_server(("127.0.0.12", 0)) as silent:
        hosts = inventory({"ansible_port": silent.getsockname()[1]})
        path = tmp_path / "first.yml"
        path.write_text(yaml.safe_dump(hosts))
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "site.yml", "-i", str(path)]
        environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as first:
            try:
                with silent.accept()[0]:
                    status, output = validate(hosts, playbook="playbooks/rolling.yml")
                    assert status == 2
                    assert "site.yml of " in output
                    assert f"(process {first.pid} of this machine): wait until it has ended, or end it." in output
                    assert validate(hosts)[0] == 0
            finally:
                first.kill()
    status, output = validate(hosts, playbook="playbooks/rolling.yml")
    assert "of this machine" not in output


@pytest.mark.parametrize("place", ["-e", "inventory"])
def test_a_yaml_bomb_is_refused_before_anybody_walks_through_it(validate, tmp_path, place):
    """Seven levels of nine: 43 million parts. Read as a whole it would take longer than a test may."""
    levels = ["slurm_config:", "  a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 8)]
    bomb = tmp_path / "bomb.yml"
    bomb.write_text("\n".join(levels))
    if place == "inventory":
        (tmp_path / "group_vars").mkdir()
        bomb.rename(tmp_path / "group_vars/all.yml")
    status, output = validate(inventory(), *(["-e", f"@{bomb}"] if place == "-e" else []))
    assert status == 2
    where = "-e" if place == "-e" else "all hosts"
    assert f"slurm_config has more than 200,000 parts ({where}): make it smaller" in output


@pytest.mark.parametrize("size", ["0", "-1", "banana", "0%", "150%", "1.5", "25 %"])
def test_a_batch_that_is_none_is_refused_before_any_host_is_touched(validate, size):
    status, output = validate(inventory(), "-e", f"batch_size='{size}'", playbook="playbooks/rolling.yml")
    assert status == 2
    assert f"batch_size is '{size}' (-e): use a whole number of nodes, at least 1, or a share" in output
    assert "UNREACHABLE" not in output


def test_seconds_to_wait_and_batches_that_can_be_meant(validate):
    status, output = validate(inventory(), "-e", "wait=-5")
    assert status == 2
    assert "wait is '-5' (-e): use a number of seconds, 0 or more." in output
    for size in ("1", "25%", "100%"):
        assert validate(inventory(), "-e", f"batch_size={size}", "-e", "wait=0")[0] == 0


def test_what_hosts_share_is_worked_out_a_few_times_for_each_of_them(validate, tmp_path):
    """And not once more for each of the others: a thousand hosts would take minutes."""
    nodes = {f"node{number}": {"ansible_host": f"10.9.0.{number}"} for number in range(100)}
    counter = tmp_path / "counter"
    counted = f"{{{{ lookup('ansible.builtin.pipe', 'echo x >> {counter}; echo /data') }}}}"
    status, output = validate(inventory({"cluster_shared_dir": counted, "cluster_accelerator": "gpu"}, **nodes))
    assert status == 2
    assert "cluster_accelerator is 'gpu' (all hosts)" in output
    assert len(counter.read_text().splitlines()) <= 5 * (len(nodes) + 3)

from __future__ import annotations

import pytest
from rackmark.slurm_change import effect, parameters, slurmd_digest

CONF = """\
# comment
ClusterName=c
SlurmctldHost=a
SlurmctldHost=b
SelectType=select/cons_tres # why
SlurmdTimeout=300
NodeName=node[1-4] Sockets=1 RealMemory=100 State=UNKNOWN
PartitionName=compute Nodes=ALL Default=YES
"""


def files(conf=CONF, **others):
    return {"slurm.conf": conf, **{name.replace("_", "."): text for name, text in others.items()}}


def test_parameters_are_read_as_slurm_reads_them():
    found = parameters(CONF)
    assert found["slurmctldhost"] == "a,b"
    assert found["selecttype"] == "select/cons_tres"
    assert "nodename=node[1-4]" in found


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("Default=YES", "Default=YES", "nothing"),
        ("# comment", "# other words", "nothing"),
        ("Default=YES", "Default=YES MaxTime=10", "reconfigure"),
        ("SlurmdTimeout=300", "SlurmdTimeout=60\nProlog=/etc/slurm/prolog.d/*", "reconfigure"),
        ("PartitionName=compute", "PartitionName=other", "reconfigure"),
        ("select/cons_tres", "select/linear", "restart"),
        ("node[1-4]", "node[1-5]", "restart"),
        ("SlurmdTimeout=300", "AParameterOfTomorrow=1", "restart"),
    ],
)
def test_a_change_takes_no_more_than_it_needs(old, new, how):
    assert effect(files(), files(CONF.replace(old, new))).how == how


def test_other_files_are_handed_on_by_a_reconfigure():
    changed = effect(files(cgroup_conf="a=1"), files(cgroup_conf="a=2"))
    assert (changed.how, changed.changed) == ("reconfigure", ["cgroup.conf"])


def test_slurmd_starts_again_only_for_what_it_reads_at_its_start():
    before = slurmd_digest(files())
    assert slurmd_digest(files(CONF.replace("node[1-4]", "node[1-9]"))) == before
    assert slurmd_digest(files(CONF.replace("Default=YES", "Default=NO"))) == before
    renamed = CONF.replace("node[1-4]", "gpu[1-4] NodeHostname=a,b,d,x NodeAddr=gpu[1-4]")
    assert slurmd_digest(files(renamed)) == before
    assert slurmd_digest(files(CONF + "TaskPlugin=task/cgroup\n")) != before
    assert slurmd_digest(files(CONF + "PrologFlags=Contain\n")) != slurmd_digest(files(CONF + "PrologFlags=Alloc\n"))
    assert slurmd_digest(files(CONF.replace("RealMemory=100", "RealMemory=100 Gres=gpu:8"))) != before
    with_gres = slurmd_digest(files(gres_conf="NodeName=n[1-2] Name=gpu File=/dev/nvidia[0-7]\n"))
    assert with_gres != before
    assert slurmd_digest(files(gres_conf="NodeName=n[1-3] Name=gpu File=/dev/nvidia[0-7]\n")) == with_gres

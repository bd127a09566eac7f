"""What slurmdbd's database has to be, and what sacctmgr has to be told."""

from __future__ import annotations

import pytest
from rackmark.slurm_accounting import (
    Association,
    hashed,
    is_ready,
    new_password,
    parse_associations,
    parse_operators,
    password_in,
    statements,
    wanted_associations,
    with_password,
)


def test_the_hash_is_that_of_mariadb():
    """SELECT PASSWORD('secret') on MariaDB 10.11."""
    assert hashed("secret") == "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7"


def test_the_password_is_in_the_file_and_in_no_statement():
    password = new_password()
    assert len(password) >= 32
    config = with_password("DbdHost=localhost\n", password)
    assert config == f"DbdHost=localhost\nStoragePass={password}\n"
    assert password_in(config) == password
    assert password not in statements(password)


def test_a_file_without_password_has_none():
    assert password_in("# StoragePass=old\nStorageHost=localhost\n") is None


@pytest.mark.parametrize(
    ("answer", "ready"),
    [
        ("1\t1\t*14E65567ABDB5135D0CFD9A70B3032C179A49EE7\n", True),
        ("1\t0\t*14E65567ABDB5135D0CFD9A70B3032C179A49EE7\n", False),
        ("1\t1\t*0000000000000000000000000000000000000000\n", False),
        ("0\t0\t\n", False),
    ],
)
def test_whether_the_database_is_ready(answer, ready):
    assert is_ready(answer, "secret") is ready


def test_what_is_missing_is_added_from_the_root_to_the_leaves():
    known = parse_associations("rackmark|root|\nrackmark|root|root\nrackmark|benchmark|\n")
    wanted = wanted_associations("Rackmark", {"Benchmark": ["ann", "Bob"], "teaching": []})
    assert [" ".join(place.words) for place in wanted] == [
        "cluster rackmark",
        "account benchmark cluster=rackmark",
        "account teaching cluster=rackmark",
        "user ann account=benchmark cluster=rackmark",
        "user bob account=benchmark cluster=rackmark",
    ]
    assert [place for place in wanted if place not in known] == [
        Association("rackmark", "teaching"),
        Association("rackmark", "benchmark", "ann"),
        Association("rackmark", "benchmark", "bob"),
    ]


def test_operators_are_users_of_the_root_account():
    wanted = wanted_associations("c", {"root": ["ann"]}, ["ann", "exporter"])
    assert [" ".join(place.words) for place in wanted] == [
        "cluster c",
        "user ann account=root cluster=c",
        "user exporter account=root cluster=c",
    ]
    assert parse_operators("ann|None\nexporter|Operator\nroot|Administrator\n\n") == {"exporter", "root"}


def test_a_database_that_knows_nothing():
    assert parse_associations("") == set()

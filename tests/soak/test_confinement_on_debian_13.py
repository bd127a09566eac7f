"""Jobs are confined on Debian 13's kernel by Debian 13's Slurm: as tests/vm sees it on Debian 12."""

from __future__ import annotations

import pytest
from vm.conftest import bare, base_image  # noqa: F401 (fixtures)
from vm.test_confinement import (  # noqa: F401 (fixtures, and tests that are collected here once more)
    job,
    node,
    test_a_job_can_open_the_devices_it_asked_for_and_no_other,
    test_a_job_that_takes_more_memory_than_it_asked_for_is_killed,
    test_a_login_is_confined_like_its_job_and_ends_with_it,
    test_the_machine_is_what_it_should_be,
)


@pytest.fixture(scope="session")
def suite():
    return "trixie"

"""Fixtures that several files of tests ask for."""

from unit.validate_fixture import validate  # noqa: F401 (fixture)

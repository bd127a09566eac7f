"""Whether results can be written is known without leaving a trace."""

from __future__ import annotations

from rackmark.run.report_folder import why_not


def test_a_folder_that_is_not_there_yet_is_not_made(tmp_path):
    assert why_not(tmp_path / "reports/runs") is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_takes_no_results(tmp_path):
    (tmp_path / "reports").write_text("")
    assert f"Results cannot be written to {tmp_path}/reports/runs: Not a directory." in why_not(
        tmp_path / "reports/runs"
    )

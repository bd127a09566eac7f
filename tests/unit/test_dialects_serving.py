"""Benchmarks of servers of language models."""

from __future__ import annotations

import pytest
from dialect_fixture import read
from framework_logs import DIALECTS
from unit.judged_log import judged

VLLM = """\
============ Serving Benchmark Result ============
Successful requests:                     98
Failed requests:                         {failed}
Benchmark duration (s):                  131.78
Total input tokens:                      204800
Total generated tokens:                  102400
Request throughput (req/s):              0.76
Output token throughput (tok/s):         777.04
Peak output token throughput (tok/s):    1386.00
Total {token} throughput (tok/s):          2331.11
---------------Time to First Token----------------
Mean TTFT (ms):                          21727.85
Median TTFT (ms):                        21310.34
P99 TTFT (ms):                           43883.54
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          51.20
Median TPOT (ms):                        50.00
P99 TPOT (ms):                           61.00
==================================================
"""
TABLE = """\
│                         Statistic │      avg │      min │      max │      p99 │      p90 │      p75 │
│          Time {To} {First} {Token} (ms) │   939.24 │   182.51 │ 1,690.35 │ 1,686.18 │ 1,582.01 │ 1,324.19 │
│          Inter {Token} {Latency} (ms) │    22.62 │    17.64 │    27.65 │    27.63 │    26.89 │    25.13 │
│              Request {Latency} (ms) │ 4,330.32 │ 4,322.60 │ 4,337.91 │ 4,337.83 │ 4,337.15 │ 4,336.76 │
"""
INSIDE = """\
│ Output {Token} {Throughput} (per sec) │ 1,557.49 │      N/A │      N/A │      N/A │      N/A │      N/A │
│      Request {Throughput} (per sec) │     3.69 │      N/A │      N/A │      N/A │      N/A │      N/A │
"""
BELOW = "Output token throughput (per sec): 1557.49\nRequest throughput (per sec): 3.69\n"
SMALL = {word.title(): word for word in ("to", "first", "token", "latency", "throughput")}
TITLED = {word: word for word in SMALL}


@pytest.mark.parametrize("token", ["Token", "token"])
def test_vllm_states_the_tokens_it_wrote_and_how_long_requests_took(tmp_path, token):
    result = judged(tmp_path, VLLM.format(failed=0, token=token))
    assert (result.state, result.throughput) == ("ok", 777.04)
    assert result.measures["requests_per_s"] == 0.76 and result.measures["tokens_per_s"] == 2331.11
    assert [result.measures[f"ttft_{one}_ms"] for one in ("mean", "median", "p99")] == [21727.85, 21310.34, 43883.54]
    assert result.measures["tpot_median_ms"] == 50
    assert "itl_mean_ms" not in result.measures


def test_requests_that_failed_are_said(tmp_path):
    remarks = read(tmp_path, VLLM.format(failed=2, token="Token"), DIALECTS["vllm-serving"]).remarks
    assert remarks == ["2 of 100 requests failed: the numbers are of the others."]


def test_two_results_of_vllm_in_a_log_are_not_one(tmp_path):
    text = VLLM.format(failed=0, token="Token")
    assert judged(tmp_path, text + text).state == "incomplete"


def test_a_log_that_ends_before_the_throughput_is_incomplete(tmp_path):
    text = VLLM.format(failed=0, token="Token")
    assert judged(tmp_path, text[: text.index("Request throughput")]).state == "incomplete"


@pytest.mark.parametrize(
    "text", [(TABLE + INSIDE).format(**TITLED), (TABLE + INSIDE).format(**SMALL), TABLE.format(**SMALL) + BELOW]
)
def test_genai_perfs_table_and_the_lines_of_its_older_versions_say_the_same(tmp_path, text):
    result = judged(tmp_path, text, case="1n1g")
    assert (result.state, result.throughput) == ("ok", 1557.49)
    assert result.measures["requests_per_s"] == 3.69
    assert (result.measures["ttft_mean_ms"], result.measures["ttft_p99_ms"]) == (939.24, 1686.18)
    assert result.measures["request_latency_mean_ms"] == 4330.32

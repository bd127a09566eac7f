"""NVIDIA's examples that only sum a training up."""

from __future__ import annotations

import pytest
from unit.judged_log import judged

PRINTED = (
    "DLL 2024-03-03 04:51:55.337358 - () best_train_throughput : 7447588.6 samples/s best_eval_throughput : 146262009.7"
    " samples/s mean_train_throughput : 7386178.4 samples/s mean_eval_throughput : 140314647.0 samples/s\n"
)
WRITTEN = (
    'DLLL {"timestamp": "1587576544.870988", "datetime": "2020-04-22 17:29:04.870988", "type": "LOG", "step": [],'
    ' "data": {"best_auc": 0.8, "average_train_throughput": 6543210.9, "average_test_throughput": 9e9}}\n'
)
MASK_RCNN = "DLL 2020-09-15 14:29:13.473765 -  e2e_train_time : 39.4 s train_perf_fps : 123.4 img/s \n"


@pytest.mark.parametrize(("text", "rate"), [(PRINTED, 7386178.4), (WRITTEN, 6543210.9), (MASK_RCNN, 123.4)])
def test_the_summary_is_the_result_for_all_devices(tmp_path, text, rate):
    result = judged(tmp_path, text)
    assert (result.state, result.throughput) == ("ok", rate)


def test_two_summaries_are_not_one_result(tmp_path):
    assert judged(tmp_path, WRITTEN + WRITTEN.replace("6543210.9", "1.5")).state == "incomplete"

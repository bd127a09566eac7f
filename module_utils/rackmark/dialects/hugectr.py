"""HugeCTR: every some iterations how long they took, of the whole job.

    [HUGECTR][02:51:59][INFO][RANK0]: Iter: 200 Time(100 iters): 0.213347s Loss: 0.106469 lr:0.001000
    [HUGECTR][02:52:03][INFO][RANK0]: Eval Time for 70 iters: 17.182972s
    [HUGECTR][04:17:24][INFO][RANK0]: Finish 1200 iterations with batchsize: 65536 in 879.05s.

The time of an interval holds the evaluations inside it, which are taken off. DLPerf publishes the mean time of an
iteration without the line of iteration 100; samples over time is the batch divided by it.
"""

from __future__ import annotations

import numpy as np

from ..logs.arrays import Array
from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import setting
from ..logs.matching import Found, Table
from ..logs.reading import Reading
from ..logs.series import Window
from ..logs.step_lines import StepLines
from ..logs.step_timing import Seconds, Steps


class _HugeCtr(StepLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window, Steps(timing=Seconds("per_iteration", per_step=True), loss="loss"))
        self._evaluated = 0.0  # seconds since the last line of a step
        self._evaluations = 0

    def take(self, found: Found, rank: int | None) -> None:
        steps = found.get("step")
        spent = self._spent_on_evaluation(steps, found.get("evaluation"))
        if steps is not None:
            fields = steps.fields
            per_iteration = (fields["seconds"] - spent) / np.maximum(fields["iterations"], 1)
            found = {**found, "step": Table(steps.at, {**fields, "per_iteration": per_iteration})}
        if "finished" in found:
            self._take_end(found["finished"])
        super().take(found, rank)

    def finish(self) -> Reading:
        if self._evaluations:
            self.reading.remarks.append(f"Evaluations between the lines: {self._evaluations}; their time is taken off.")
        return super().finish()

    def _spent_on_evaluation(self, steps: Table | None, evaluations: Table | None) -> Array:
        """Seconds before each line of a step since the one before it."""
        spent = np.zeros((0 if steps is None else len(steps)) + 1)
        spent[0] = self._evaluated
        if evaluations is not None:
            self._evaluations += len(evaluations)
            before = np.searchsorted(np.empty(0) if steps is None else steps.at, evaluations.at)
            np.add.at(spent, before, evaluations.fields["seconds"])
        self._evaluated = float(spent[-1])
        return spent[:-1]

    def _take_end(self, table: Table) -> None:
        end = next(table.rows())
        self.note({"global_batch": int(end["batch"])})
        if end["seconds"] > 0:
            self.reading.stated["whole"] = float(end["iterations"] * end["batch"] / end["seconds"])


DIALECTS = (
    Dialect(
        name="hugectr",
        title="HugeCTR",
        kinds=(
            kind("step", "Iter: {step:int} Time({iterations:int} iters): {seconds:float}s Loss: {loss:float} lr:"),
            kind("evaluation", "Eval Time for {iterations:int} iters: {seconds:float}s"),
            kind("finished", "Finish {iterations:int} iterations with batchsize: {batch:int} in {seconds:float}s"),
            setting("batch_size", "global_batch:int"),
            setting("gpu_num_per_node", "devices_per_node:int"),
            setting("num_nodes", "nodes:int"),
        ),
        fold=_HugeCtr,
        warmup=100,
    ),
)

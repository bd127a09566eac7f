"""TensorFlow 2's official models: ResNet's TimeHistory, and BERT's own training loop.

    I0826 22:10:36.352512 14 keras_utils.py] TimeHistory: 38.81 seconds, 329.79 examples/second between steps 0 and 100
    I0826 22:10:36.352512 14 model_training_utils.py:450] Train Step: 20/120  / loss = 10.97

The time at which a line was written is more exact than the seconds it names, which are its check, and what DLPerf
reads of both; BERT's lines name nothing else. ResNet's log also says the batch of all devices and, at its end, accuracy
and loss.
"""

from __future__ import annotations

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.reading import Reading
from ..logs.series import Window
from ..logs.step_lines import StepLines
from ..logs.step_timing import Clock, Seconds, Steps

_WRITTEN = "I{month_day:int} {hour:int}:{minute:int}:{second:float}"
_TIME_HISTORY = Steps(timing=Clock(), check=Seconds("seconds"), printed="rate")


class TimeHistoryFold(StepLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window, _TIME_HISTORY)

    def finish(self) -> Reading:
        """The number of workers is logged where there are several."""
        if "devices_per_node" in self.reading.facts:
            self.reading.facts.setdefault("nodes", 1)
        return super().finish()


DIALECTS = (
    Dialect(
        name="tensorflow2",
        title="TensorFlow 2 official models (TimeHistory)",
        kinds=(
            kind(
                "step",
                "TimeHistory: {seconds:float} seconds, {rate:float} examples/second"
                " between steps {first:int} and {step:int}",
                head=_WRITTEN,
            ),
            kind("fact batch", "Global batch size: {global_batch:int}"),
            kind("fact devices", "Overriding params: runtime.num_gpus={devices_per_node:int}"),
            kind("fact nodes", "task_id = 0, num_workers = {nodes:int}"),
            kind("stated accuracy", "'accuracy_top_1': {accuracy:float}"),
            kind("stated loss", "'loss': {loss:float}, 'training_accuracy_top_1'"),
        ),
        steps=_TIME_HISTORY,
        fold=TimeHistoryFold,
        warmup=100,
        last=600,
    ),
    Dialect(
        name="tensorflow2-bert",
        title="TensorFlow 2 official models (BERT)",
        kinds=(
            kind("step", "Train Step: {step:int}/{total:int}  / loss = {loss:float}", head=_WRITTEN),
            kind("stated loss", "'train_loss': {loss:float}", head="{'total_training_steps': "),
        ),
        steps=Steps(timing=Clock(), loss="loss"),
        unit="sequences/s",
        warmup=20,
        last=120,
        progress=r"Train Step: (\d{1,12})/(\d{1,12}) ",
    ),
)

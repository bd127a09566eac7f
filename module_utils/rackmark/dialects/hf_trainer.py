"""Hugging Face's Trainer, which prints no time of its steps but sums up the training at its end, on every rank:

      Total train batch size (w. parallel, distributed & accumulation) = 64
    {'loss': 2.3, 'learning_rate': 1e-05, 'epoch': 0.5}
    {'eval_loss': 2.1, 'eval_runtime': 12.3, 'eval_samples_per_second': 81.3, 'epoch': 1.0}
    {'train_runtime': 919.097, 'train_samples_per_second': 1.088, 'train_steps_per_second': 0.017, 'epoch': 1.0}

The throughput is that of the whole training as it is stated, first steps, evaluations and checkpoints included; of all
ranks the lowest counts, which is that of the last to end. Newer versions put the numbers into quotes.
"""

from __future__ import annotations

import math
from typing import Any, Mapping

from ..logs.dialect import Dialect
from ..logs.kinds import Kind, kind
from ..logs.reading import Fault, Reading
from ..logs.series import Window
from ..logs.stated_lines import StatedLines
from ..run.measures import Measure

_APART = 0.02  # ranks of one training end within a part of a second
_SAMPLES_APART = 0.05


class _Trainer(StatedLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._ends: list[Mapping[str, float]] = []
        self._settings: dict[str, int] = {}
        self._evaluations: list[float] = []

    def take_line(self, name: str, row: Mapping[str, Any]) -> None:
        if name.startswith("rest loss") and not math.isfinite(row["loss"]):
            self.reading.faults.append(Fault("nan_loss", "A loss in the log is not a finite number."))
        elif name.startswith("evaluation"):
            self._evaluations.append(float(row["seconds"]))
        elif name.startswith("end"):
            self._ends.append(row)
        elif name.startswith("rest last loss"):
            super().take_line("stated", {"loss": row["mean_loss"]})
        elif name.startswith("rest setting"):
            self._settings.update({word: int(value) for word, value in row.items()})
        else:
            super().take_line(name, row)

    def finish(self) -> Reading:
        self._note_settings()
        if not self._ends:
            reason = "The log ends before the Trainer sums the training up (train_runtime)."
            self.reading.faults.append(Fault("incomplete", reason))
            return self.reading
        last = min(self._ends, key=lambda end: end["rate"])
        if max(end["rate"] for end in self._ends) > last["rate"] * (1 + _APART) + 1e-3:
            self.reading.faults.append(Fault("incomplete", "The log holds more than one training, of unlike speed."))
        stated = self.reading.stated
        stated.update(throughput=last["rate"], train_s=last["seconds"], steps_per_s=last["steps"])
        self._compare_with_steps(last)
        if self._evaluations:
            spent = math.fsum(self._evaluations)
            self.reading.remarks.append(
                f"The time of the training holds {len(self._evaluations)} evaluations of {spent:.0f} s altogether."
            )
        return self.reading

    def _note_settings(self) -> None:
        batch, total = self._settings.get("batch"), self._settings.get("total")
        of_a_step = (batch or 0) * self._settings.get("accumulation", 1)
        if total:
            self.note({"global_batch": total})
        if of_a_step and total and total % of_a_step == 0:
            self.note({"batch": of_a_step, "world_size": total // of_a_step})

    def _compare_with_steps(self, end: Mapping[str, float]) -> None:
        """What is stated counts examples, what is trained are whole batches."""
        total, steps = self._settings.get("total"), self._settings.get("steps")
        if not total or not steps or not end["seconds"] > 0:
            return
        by_steps = total * steps / end["seconds"]
        if abs(by_steps / end["rate"] - 1) > _SAMPLES_APART:
            self.reading.remarks.append(
                f"The Trainer states {end['rate']:g} samples/s; {steps} steps of {total} samples in"
                f" {end['seconds']:g} s are {by_steps:.4g}."
            )


def _dictionary(name: str, entries: str) -> tuple[Kind, Kind]:
    """As it is printed by older and by newer versions; `entries` is like the older ones print it."""
    return kind(name, entries), kind(f"{name} in quotes", entries.replace(": {", ": '{").replace("}", "}'"))


DIALECTS = (
    Dialect(
        name="hf-trainer",
        title="Hugging Face Trainer",
        kinds=(
            *_dictionary("rest loss", "'loss': {loss:float}, "),
            *_dictionary("evaluation", "'eval_runtime': {seconds:float}, "),
            *_dictionary(
                "end",
                "'train_runtime': {seconds:float}, 'train_samples_per_second': {rate:float},"
                " 'train_steps_per_second': {steps:float}",
            ),
            *_dictionary("stated tokens", "'train_tokens_per_second': {tokens_per_s:float}"),
            *_dictionary("rest last loss", "'train_loss': {mean_loss:float}"),
            *_dictionary("sign of a step", "'learning_rate': {rate:float}, 'epoch': {epoch:float}"),
            kind("fact of DeepSpeed", "world_size ................... {world_size:int}"),
            kind("rest setting batch", "Instantaneous batch size per device = {batch:grouped}"),
            kind(
                "rest setting total",
                "Total train batch size (w. parallel, distributed & accumulation) = {total:grouped}",
            ),
            kind("rest setting accumulation", "Gradient Accumulation steps = {accumulation:grouped}"),
            kind("rest setting steps", "Total optimization steps = {steps:grouped}"),
        ),
        fold=_Trainer,
        prefers_stated=True,
        warmup=0,
        measures=(
            Measure("train_s", "s", "lower", "stated.train_s", means="The time from the first step to the last."),
            Measure("steps_per_s", "steps/s", "higher", "stated.steps_per_s"),
            Measure("tokens_per_s", "tokens/s", "higher", "stated.tokens_per_s"),
        ),
    ),
)

"""How much of what a device can compute goes into the training: MFU, by three formulas."""

from __future__ import annotations

from dataclasses import dataclass

import rackmark_log
from flags import Flags

RATE = "tokens_per_second_device"
OWN = ("mfu", "mfu_with_attention")
FLAGPERF = "mfu_flagperf"


@dataclass(frozen=True)
class Cost:
    """Floating-point operations of one token, forwards and backwards."""

    parameters: int
    of_attention: int

    @property
    def of_weights(self) -> int:
        """Two in the forward pass and four in the backward pass for every parameter, those of the embedding too."""
        return 6 * self.parameters

    @property
    def with_attention(self) -> int:
        return self.of_weights + self.of_attention

    @classmethod
    def of(cls, flags: Flags, parameters: int) -> Cost:
        shape = flags.shape
        # As if every token saw all of its sequence: the usual count, twice what a causal mask leaves.
        return cls(parameters, of_attention=12 * shape.layers * shape.hidden * shape.seq)


def state(flags: Flags, cost: Cost, rate: float) -> None:
    """`rate` is tokens per second of one device; MFU is in percent."""
    rackmark_log.stated(**{RATE: rate})
    if flags.peak_tflops is None:
        reason = "No peak of the device is known: give the setting peak_tflops, in TFLOP/s at this precision."
        rackmark_log.not_stated([*OWN, FLAGPERF], reason)
        return
    per_flop = 100 * rate / (flags.peak_tflops * 1e12)
    rackmark_log.stated(mfu=per_flop * cost.of_weights, mfu_with_attention=per_flop * cost.with_attention)
    if flags.nominal_parameters is None:
        reason = "FlagPerf has no nominal size for this shape: give the setting nominal_parameters, as in 7e9."
        rackmark_log.not_stated([FLAGPERF], reason)
    else:
        rackmark_log.stated(**{FLAGPERF: per_flop * 6 * flags.nominal_parameters})

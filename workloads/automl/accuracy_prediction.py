"""The accuracy that AIPerf expects of a longer training, from the epochs of a shorter one. It enters no score."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

FEWEST, MOST = 10, 80  # epochs of the training that it is predicted from
_AT = 90  # epochs
_ANCHOR = (120, 0.75)  # an epoch far ahead, with what a ResNet-50 has there on ImageNet
_OFFSETS = np.concatenate([np.linspace(0, 5, 51), np.geomspace(5.5, 100, 40)])


def predicted(accuracies: Sequence[float]) -> float | None:
    """`accuracies` of the epochs, from the first; None where AIPerf goes by what was measured."""
    if not FEWEST <= len(accuracies) < MOST:
        return None
    epochs = np.array([*range(1, len(accuracies) + 1), _ANCHOR[0]], dtype=float)
    values = np.array([*accuracies, _ANCHOR[1]])
    fits = [_fit(epochs, values, offset) for offset in _OFFSETS]
    error, offset, (factor, constant) = min(fits, key=lambda fit: fit[0])
    expected = float(factor * np.log2(_AT + offset) + constant - 2 * error)
    return expected if max(accuracies) <= expected <= 1 else None


def _fit(epochs: Any, values: Any, offset: float) -> tuple[float, float, Any]:  # noqa: ANN401, arrays of numpy
    """Of a * log2(epoch + offset) + c by least squares: its root mean square error, and the best a and c."""
    terms = np.stack([np.log2(epochs + offset), np.ones_like(epochs)], axis=1)
    best, *_ = np.linalg.lstsq(terms, values, rcond=None)
    return float(np.sqrt(np.mean((terms @ best - values) ** 2))), float(offset), best

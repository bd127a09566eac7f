"""Which networks are worth training: a Gaussian process on what is known of those that were."""

from __future__ import annotations

import itertools
import math
from typing import Iterable, NamedTuple, Sequence

import numpy as np
from rackmark.automl.trials import FAILED, LOST, Trial

MOST_NETWORKS = 256  # the time it takes grows with their cube
BETA = 2.576  # of the upper bound, AIPerf's
_NETWORKS_FOR_KERNEL = 64
_SCALES = (0.5, 1.0, 2.0, 4.0)
_NOISES = (0.01, 0.1, 0.5)  # shares of the variance of accuracies


class _Fit(NamedTuple):
    evidence: float
    lower: np.ndarray  # Cholesky factor of the covariance
    weights: np.ndarray


def upper_bounds(known: Sequence[tuple[Sequence[float], float]], candidates: Sequence[Sequence[float]]) -> list[float]:
    """For each candidate what its accuracy may be at best; all alike as long as nothing is known.

    `known` are features with accuracies; features are taken as multiples of their spread.
    """
    size = len(candidates[0])
    known = [(features, accuracy) for features, accuracy in known if len(features) == size]
    if len(known) < 2:
        return [0.0] * len(candidates)
    features = np.array([features for features, _ in known], dtype=float)
    accuracies = np.array([accuracy for _, accuracy in known])
    spread = features.std(axis=0)
    spread[spread == 0] = 1.0
    middle, deviation = accuracies.mean(), accuracies.std() or 1.0
    trained = (features - features.mean(axis=0)) / spread
    asked = (np.array(candidates, dtype=float) - features.mean(axis=0)) / spread
    targets = (accuracies - middle) / deviation
    distances = _squared_distances(trained, trained) / size
    scale, noise = _best_kernel(distances, targets)
    fit = _fitted(distances, targets, scale, noise)
    across = np.exp(-0.5 * _squared_distances(asked, trained) / size / scale**2)
    mean = across @ fit.weights
    explained = np.linalg.solve(fit.lower, across.T)
    variance = np.clip(1.0 - (explained**2).sum(axis=0), 0.0, None)
    bounds = middle + deviation * (mean + BETA * np.sqrt(variance))
    return [round(float(bound), 9) for bound in bounds]  # so that equal candidates are equal on every processor


def _squared_distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    products = some @ others.T
    squares = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)[None, :]
    return np.clip(squares - 2 * products, 0.0, None)


def _best_kernel(distances: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Scale and noise that some of the networks speak for most."""
    some = np.linspace(0, len(targets) - 1, min(len(targets), _NETWORKS_FOR_KERNEL)).astype(int)
    fewer = distances[np.ix_(some, some)]
    return max(itertools.product(_SCALES, _NOISES), key=lambda kernel: _fitted(fewer, targets[some], *kernel).evidence)


def _fitted(distances: np.ndarray, targets: np.ndarray, scale: float, noise: float) -> _Fit:
    covariance = np.exp(-0.5 * distances / scale**2) + noise * np.eye(len(targets))
    lower = np.linalg.cholesky(covariance)
    weights = np.linalg.solve(lower.T, np.linalg.solve(lower, targets))
    evidence = -0.5 * targets @ weights - np.log(np.diag(lower)).sum() - 0.5 * len(targets) * math.log(2 * math.pi)
    return _Fit(float(evidence), lower, weights)


def known_networks(trials: Iterable[Trial]) -> list[tuple[Sequence[float], float]]:
    """Features and accuracies of the best and the latest; a network that failed is as bad as the worst that did not."""
    ended = [trial for trial in trials if trial.features and trial.ended is not None and trial.state != LOST]
    measured = [trial.accuracy for trial in ended if trial.accuracy is not None]
    if not measured:
        return []
    worst = min(measured)
    judged = [
        (trial, worst if trial.accuracy is None else trial.accuracy)
        for trial in ended
        if trial.accuracy is not None or trial.state in FAILED
    ]
    judged.sort(key=lambda each: (-each[1], each[0].seq))
    best, others = judged[: MOST_NETWORKS // 2], judged[MOST_NETWORKS // 2 :]
    others.sort(key=lambda each: (each[0].ended or 0.0, each[0].seq), reverse=True)
    return [(trial.features, accuracy) for trial, accuracy in best + others[: MOST_NETWORKS // 2]]

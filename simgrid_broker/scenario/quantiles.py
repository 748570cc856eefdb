"""Draws that follow a published distribution even on a small synthetic grid: even quantiles in a keyed order."""

from collections.abc import Sequence

import numpy as np

from simgrid_broker.luck import normal_quantile, uniforms
from simgrid_broker.scenario.arrivals import stream_key

PUBLISHED_AT = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
"""Where the published distributions are known: minimum, 5, 25, 50, 75, 95 % and maximum."""


def dealt(seed: int, question: str, n: int) -> np.ndarray:
    """Even quantiles (1/2n, 3/2n, ...) in an order of its own for each question, (n,)."""
    place = np.empty(n)
    place[np.argsort(luck(seed, question, n), kind="stable")] = np.arange(n)
    return (place + 0.5) / n


def luck(seed: int, question: str, n: int) -> np.ndarray:
    """Independent uniform numbers for one question, (n,)."""
    return uniforms(seed, "grid_draw", stream_key(question), np.arange(n))


def interpolated(seed: int, question: str, n: int, published: Sequence[float]) -> np.ndarray:
    """Values of a distribution known at `PUBLISHED_AT`, straight lines between, in random order, (n,)."""
    return np.interp(dealt(seed, question, n), PUBLISHED_AT, published)


def stepped(seed: int, question: str, n: int, values: Sequence[tuple[float, float]]) -> list:
    """Values of a distribution that has only a few, given as (weight, value), in random order, (n,)."""
    parts, choices = zip(*values, strict=True)
    ends = np.cumsum(parts) / np.sum(parts)
    return [choices[k] for k in np.searchsorted(ends, dealt(seed, question, n))]


def log_normal(seed: int, question: str, n: int, median: float, sigma: float, most: float) -> np.ndarray:
    """Values of a log-normal distribution cut at `most`, in random order, (n,)."""
    return np.minimum(most, median * np.exp(sigma * normal_quantile(dealt(seed, question, n))))

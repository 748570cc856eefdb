"""Draws of a synthetic grid: even quantiles in an order keyed by a question, or one number for each name."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from simgrid_broker.luck import key_of, normal_quantile, uniforms

PUBLISHED_AT = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
"""Quantiles at which the published distributions are known."""


def dealt(seed: int, question: str, n: int) -> np.ndarray:
    """Even quantiles (1/2n, 3/2n, ...) in an order keyed by the question, (n,)."""
    place = np.empty(n)
    place[np.argsort(luck(seed, question, n), kind="stable")] = np.arange(n)
    return (place + 0.5) / n


def luck(seed: int, question: str, n: int) -> np.ndarray:
    """Independent uniform numbers for one question, (n,)."""
    return uniforms(seed, "grid_draw", key_of(question), np.arange(n))


def interpolated(seed: int, question: str, n: int, published: Sequence[float]) -> np.ndarray:
    """Values of a distribution known at `PUBLISHED_AT`, interpolated linearly, in random order, (n,)."""
    return np.interp(dealt(seed, question, n), PUBLISHED_AT, published)


def stepped(seed: int, question: str, n: int, values: Sequence[tuple[float, Any]]) -> list:
    """Values of a discrete distribution, given as (weight, value), in random order, (n,)."""
    parts, choices = zip(*values, strict=True)
    ends = np.cumsum(parts) / np.sum(parts)
    return [choices[k] for k in np.searchsorted(ends, dealt(seed, question, n))]


def log_normal(seed: int, question: str, n: int, median: float, sigma: float, most: float) -> np.ndarray:
    """Values of a log-normal distribution cut at `most`, in random order, (n,)."""
    return np.minimum(most, median * np.exp(sigma * normal_quantile(dealt(seed, question, n))))


def by_name(seed: int, question: str, names: Iterable[str]) -> np.ndarray:
    """Standard normal numbers for names, (n,), each independent of what other names there are."""
    keys = np.array([key_of(name) for name in names])
    return normal_quantile(uniforms(seed, "grid_draw", key_of(question), keys))

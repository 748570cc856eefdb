"""Designs: which combinations of settings a sweep runs."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

from simgrid_broker.experiments.study_file import Axis

STEPS, POINTS = 5, 16
"""Numbers of a range in a grid, and points of a sample, unless given."""
DIGITS = 6
"""Significant digits of numbers that a design chooses."""
LUCK = 1
"""Seed of the designs: the same study file has the same points."""


def combinations(axes: Mapping[str, Axis], design: str = "grid", points: int | None = None) -> Iterator[dict[str, Any]]:
    """Settings by dotted key of each point of a design (see `SweepFile.design`)."""
    if design in ("grid", "list"):
        listed = [levels(axis) for axis in axes.values()]
        chosen: Iterable[tuple[Any, ...]] = (itertools.product(*listed) if design == "grid" else
                                             zip(*listed, strict=True))
        return (dict(zip(axes, values, strict=True)) for values in chosen)
    number = points or POINTS
    if design == "latin_hypercube":
        places = qmc.LatinHypercube(len(axes), rng=LUCK).random(number)
    else:
        exponent = (number - 1).bit_length()                      # a sequence is balanced in powers of 2
        places = qmc.Sobol(len(axes), rng=LUCK).random_base2(exponent)[:number]
    return (settings_at(axes, place) for place in places)


def settings_at(axes: Mapping[str, Axis], place: Sequence[float] | np.ndarray) -> dict[str, Any]:
    """Settings at a place in the unit cube."""
    return {key: value_at(axis, float(part)) for (key, axis), part in zip(axes.items(), place, strict=True)}


def levels(axis: Axis) -> list[Any]:
    """The values of an axis in a grid, each once."""
    if axis.values is not None:
        return list(axis.values)
    return list(dict.fromkeys(value_at(axis, part) for part in np.linspace(0, 1, axis.steps or STEPS)))


def value_at(axis: Axis, part: float) -> Any:
    """The value at a part, 0 to 1, of an axis."""
    if axis.values is not None:
        return axis.values[min(int(part * len(axis.values)), len(axis.values) - 1)]
    low, high = bounds(axis)
    value = low * (high / low) ** part if axis.scale == "log" else low + part * (high - low)
    return round(value) if axis.whole else rounded(value)


def rounded(value: float) -> float:
    """A number with DIGITS significant digits."""
    return float(f"{value:.{DIGITS}g}")


def bounds(axis: Axis) -> tuple[float, float]:
    """Ends of the range of an axis."""
    assert axis.low is not None and axis.high is not None
    return axis.low, axis.high

"""Verdict of a brokerage, candidate by candidate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

KEPT = -1
"""Code of a candidate that no rule refused."""


@dataclass(frozen=True)
class Figures:
    """The figures behind a verdict, candidate by candidate, (n,) each; NaN = there are none.

    value, limit: what the rule that refused first compared, in its own unit; factors: name to multipliers of the
    weight; numbers: name to what else is known of a candidate, such as its weight. Both are of the candidates that got
    as far as the weight, refused or not. texts: by candidate, what a refusal names instead of a figure; unasked: places
    of the rules that did not concern the task.
    """

    value: np.ndarray
    limit: np.ndarray
    factors: Mapping[str, np.ndarray]
    numbers: Mapping[str, np.ndarray] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    unasked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Verdict:
    """Refusal, weight and order of each candidate.

    tags: the tag of each rule in order; refused_by: (n,) index of the rule that first refused, KEPT otherwise;
    weight: (n,), 0 where refused; order: candidates to use, best first. queued, cap: (n,) jobs that wait at the
    candidate's queue, and the number that a candidate must stay below to be given more; None = does not matter.
    figures: asks the rules once more for their figures, before anything has changed; None = there are none.
    """

    tags: tuple[str, ...]
    refused_by: np.ndarray
    weight: np.ndarray
    order: np.ndarray
    queued: np.ndarray | None = None
    cap: np.ndarray | None = None
    figures: Callable[[], Figures] | None = None

"""Criteria on releases, containers, CPUs and GPUs, checked once per distinct description; the CPU preference."""

from typing import Any

import numpy as np

from simgrid_broker.policy.brokerage.production import named_values
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.policy.funnel import ONE
from simgrid_broker.policy.rule import criterion, factor
from simgrid_broker.policy.software.check import NO_CACHE, NO_PLATFORM, answer, need_of, preference

SOFTWARE_FIELDS = ("architecture", "transhome", "container_name", "only_tags_for_fc")

def needs_software(case: JobCase) -> bool:
    """Whether anything is checked."""
    return _need(case) is not None


BOTH: Any = {"applies": needs_software, "panda": "selection for release", "stage": "SW/HW check",
             "static": SOFTWARE_FIELDS,
             "source": "PanDA brokerage documentation, release/cache availability check; brokerage reference, 5"}


@criterion(NO_CACHE, says="it does not have {text}", text=named_values.software, **BOTH)
def software_missing(case: JobCase) -> np.ndarray:
    """Refuse queues without the release, container, CPU or GPU that the task asks for; those with ANY pass (D37).

    The deployed edition checks tasks with a transHome only (D38 to D41).
    """
    return _answered(case, NO_CACHE)


@criterion(NO_PLATFORM, says="it has no platform for {text}", text=named_values.platform, **BOTH)
def platform_missing(case: JobCase) -> np.ndarray:
    """Refuse queues that have no platform for the regular expression of the task."""
    return _answered(case, NO_PLATFORM)


@factor("CPU preference", panda="weight", editions=("deployed",), static=SOFTWARE_FIELDS,
        source="brokerage reference, 5.2 and 10.1")
def cpu_preference(case: JobCase) -> np.ndarray | float:
    """1 + the fraction of worker nodes with the CPU level that the task prefers; 1 where it is unknown."""
    known = preferences(case)
    return ONE if known is None else np.where(np.isnan(known), 1.0, known)


def preferences(case: JobCase) -> np.ndarray | None:
    """CPU preference of each candidate, (n,), NaN where the check does not get there; None if the task has none."""
    need = _need(case)
    if need is None or not need.architecture.preferred_level:
        return None
    distinct, number = case.queues.distinct_software
    return np.array([preference(software, need, case.edition) for software in distinct], float)[number]


def _answered(case: JobCase, tag: str) -> np.ndarray:
    """Candidates for which the check gives `tag`, (n,) bool."""
    need = _need(case)
    if need is None:
        return np.zeros(case.n_candidates, bool)
    distinct, number = case.queues.distinct_software
    tags = [answer(software, need, case.queues.software_of_all, case.edition) for software in distinct]
    return np.array([each == tag for each in tags], bool)[number]


def _need(case: JobCase):
    """What the task needs, None if nothing is checked."""
    return need_of(*(getattr(case.task, name) for name in SOFTWARE_FIELDS), case.edition)

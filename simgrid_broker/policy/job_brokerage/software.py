"""Criteria about releases, containers, CPUs and GPUs, and the factor of the preferred CPU level.

What lives here: asking the check for every candidate, once for each different description of software. What does not:
the check of one queue (`policy.software`).

Source of the place in the chain and of the tags: brokerage reference, section 2.3, P11, and 5.4.
"""

import numpy as np

from simgrid_broker.policy.funnel import ONE
from simgrid_broker.policy.job_brokerage.case import JobCase
from simgrid_broker.policy.rule import criterion, factor
from simgrid_broker.policy.software.check import NO_CACHE, NO_PLATFORM, answer, has_entry, need_of

SOFTWARE_FIELDS = ("architecture", "transhome", "container_name", "only_tags_for_fc")

DOCUMENTED = {"editions": ("documented",), "static": SOFTWARE_FIELDS,
              "source": "PanDA brokerage documentation, release/cache availability check; brokerage reference, 5"}
DEPLOYED = {"editions": ("deployed",), "static": SOFTWARE_FIELDS, "source": "brokerage reference, 5"}


@criterion(NO_CACHE, panda="selection for release", **DOCUMENTED)
def software_missing(case: JobCase) -> np.ndarray:
    """Refuse queues without the release, container, CPU or GPU that the task asks for; those with ANY pass (D37)."""
    return _answered(case, NO_CACHE, "documented")


@criterion(NO_PLATFORM, panda="selection for release", **DOCUMENTED)
def platform_missing(case: JobCase) -> np.ndarray:
    """Refuse queues that have no platform for the regular expression of the task."""
    return _answered(case, NO_PLATFORM, "documented")


@criterion(NO_CACHE, panda="selection for release", **DEPLOYED)
def software_missing_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues without what the task asks for, as the code checks it: only with a transHome (D37 to D41)."""
    return _answered(case, NO_CACHE, "deployed")


@criterion(NO_PLATFORM, panda="selection for release", **DEPLOYED)
def platform_missing_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues that the code lets pass although they have no platform for the regular expression of the task."""
    return _answered(case, NO_PLATFORM, "deployed")


@factor("CPU preference", panda="weight", editions=("deployed",), static=SOFTWARE_FIELDS,
        source="brokerage reference, 5.2 and 10.1")
def cpu_preference(case: JobCase) -> np.ndarray | float:
    """1 + the part of worker nodes with the CPU level that the task prefers; 1 where it is not known."""
    need = _need(case, "deployed")
    if need is None or not need.architecture.preferred_level:
        return ONE
    distinct, number = case.queues.distinct_software
    parts = [dict(software.cpu_levels).get(need.architecture.preferred_level, 0.0) / 100
             if has_entry(software, "deployed") else 0.0 for software in distinct]
    return 1 + np.array(parts, float)[number]


def _answered(case: JobCase, tag: str, edition: str) -> np.ndarray:
    """Candidates for which the check gives `tag`, (n,) bool."""
    need = _need(case, edition)
    if need is None:
        return np.zeros(case.n_candidates, bool)
    distinct, number = case.queues.distinct_software
    said = [answer(software, need, case.queues.software_of_all, edition) == tag for software in distinct]
    return np.array(said, bool)[number]


def _need(case: JobCase, edition: str):
    """What the task needs, None if nothing is checked."""
    return need_of(*(getattr(case.task, name) for name in SOFTWARE_FIELDS), edition)

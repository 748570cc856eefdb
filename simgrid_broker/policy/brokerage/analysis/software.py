"""Releases, containers and hardware as analysis asks for them; source: brokerage reference, 5.5."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.policy.brokerage.analysis.candidates import STEP_3, has_none, no_mask
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase
from simgrid_broker.policy.brokerage.production import named_values
from simgrid_broker.policy.rule import criterion
from simgrid_broker.policy.software.architecture import Architecture, parse_architecture
from simgrid_broker.policy.software.check import (
    ALLOWED,
    NIGHTLIES_REPOSITORY,
    NO_CACHE,
    NO_PLATFORM,
    RELEASES_REPOSITORY,
    Release,
    answer,
    entry_of,
    has_container,
    has_tag,
    need_of,
    resolved_platform,
    takes_images,
)
from simgrid_broker.policy.software.hardware import ANY, has_hardware
from simgrid_broker.policy.software.patterns import covers
from simgrid_broker.views import PublishedSoftware, QueueSoftware, Task

STANDALONE, TRANSFORMS = "", "AnalysisTransforms"
BASE_PROJECT = "AtlasOffline"
"""Project of the release that `transUses` names."""
FIELDS = ("architecture", "transhome", "transuses", "container_name", "only_tags_for_fc", "preassigned", "siteendpoint")
BOTH: Any = {"panda": "selection for release", "stage": "SW/HW check", "static": FIELDS, "applies": has_none,
             "source": f"{STEP_3}; brokerage reference, 3.3 A10 and 5.5"}


class Wanted(NamedTuple):
    """What a task asks of a queue with AUTO; release: None = nothing of it; only_cvmfs: tags do not do."""

    release: Release | None
    only_cvmfs: bool = False


@criterion(NO_CACHE, says="it does not have {text}", text=named_values.software, **BOTH)
def release_missing(case: AnalysisCase) -> np.ndarray:
    """Refuse queues without the release, container, CPU or GPU that the task asks for, unless it names its queue.

    Those with ANY pass, in the deployed edition if the task asks for neither CPU nor GPU.
    """
    return _answered(case, NO_CACHE)


@criterion(NO_PLATFORM, says="it has no platform for {text}", text=named_values.platform, **BOTH)
def platform_unresolved(case: AnalysisCase) -> np.ndarray:
    """Refuse queues that have no platform for the regular expression of the task."""
    return _answered(case, NO_PLATFORM)


def _answered(case: AnalysisCase, tag: str) -> np.ndarray:
    """Candidates for which the check gives `tag`, (n,) bool."""
    if not has_none(case):
        return no_mask(case)
    distinct, number = case.queues.distinct_software
    tags = [answer_of(case, software) for software in distinct]
    return np.array([each == tag for each in tags], bool)[number]


def answer_of(case: AnalysisCase, software: QueueSoftware) -> str:
    """The tag with which a queue is refused, "" if it is not; as documented the check is that of production."""
    task, everywhere = case.task, case.queues.software_of_all
    if case.edition == "documented":
        need = need_of(task.architecture, rest_of(task.transhome), task.container_name, task.only_tags_for_fc,
                       case.edition)
        return ALLOWED if need is None else answer(software, need, everywhere, case.edition)
    asked, published = parse_architecture(task.architecture, case.edition), entry_of(software, case.edition)
    if published is not None and has_hardware(asked, published.architectures, software.gpus, case.edition) and (
            _has_software(published, task, asked, everywhere)):
        platform = asked.sw_platform
        found = not platform or covers(platform, platform) or resolved_platform(published, platform) is not None
        return ALLOWED if found else NO_PLATFORM
    takes_any = software.releases == ("ANY",) and not asked.cpu_specs and asked.gpu_spec is None
    return ALLOWED if takes_any else NO_CACHE


def _has_software(published: PublishedSoftware, task: Task, asked: Architecture,
                  everywhere: PublishedSoftware | None) -> bool:
    """Whether a queue with AUTO has what a task asks for; source: brokerage reference, 5.2 and 5.5."""
    if task.container_name:
        return has_container(published, task.container_name, task.only_tags_for_fc, everywhere)
    wanted = wanted_of(task.transhome, task.transuses)
    if wanted is None:
        return False
    if wanted.release is None:
        return True
    if ANY in published.cvmfs or wanted.release.cvmfs_tag in published.cvmfs:
        return takes_images(published) or asked.sw_platform in published.cmtconfigs
    return not wanted.only_cvmfs and has_tag(published, wanted.release, asked.sw_platform)


@lru_cache(maxsize=4096)
def wanted_of(transhome: str, transuses: str | None) -> Wanted | None:
    """What transHome and transUses ask for; None = nothing that a queue with AUTO could have."""
    rest, nightly = rest_of(transhome), is_nightly(rest_of(transhome))
    numbered = re.search(r"-\d+\.\d+\.\d+$", rest) is not None
    if transhome not in (STANDALONE, TRANSFORMS) and not nightly and not numbered:
        return Wanted(_release(rest))
    if (rest == "" and transuses is not None) or (
            numbered and (transuses is None or not re.search(r"-\d+\.\d+$", transuses))):
        if transuses is not None:
            return Wanted(Release(BASE_PROJECT, transuses.split("-")[-1], RELEASES_REPOSITORY))
        return Wanted(_release(rest)) if rest.count("-") == 1 else None
    return Wanted(Release("", "", NIGHTLIES_REPOSITORY), True) if transhome else Wanted(None)


def rest_of(transhome: str) -> str:
    """What follows the first dash of a transHome, with dashes for underscores."""
    return re.sub(r"^[^-]+-*", "", transhome).replace("_", "-")


def is_nightly(rest: str) -> bool:
    """Whether a transHome names a nightly: by its time, since `rel_` has lost its underscore."""
    return re.search(r"\d{4}-\d{2}-\d{2}T\d{4}$", rest) is not None


def _release(rest: str) -> Release:
    project, _, version = rest.partition("-")
    return Release(project, version.partition("-")[0], RELEASES_REPOSITORY)

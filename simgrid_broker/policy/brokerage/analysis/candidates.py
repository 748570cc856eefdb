"""Use of a queue as analysis brokerage asks for it: list, status, zero share, cores, inclusion, cloud, and software.

Source of the software: brokerage reference, 5.5.
"""

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.names import ANY_CORES, AUTO, QueueStatus
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase, preassigned_queue
from simgrid_broker.policy.brokerage.production import question
from simgrid_broker.policy.brokerage.production.requirements import ONLY
from simgrid_broker.policy.queues import TASK_FIELDS, has_zero_share
from simgrid_broker.policy.rule import Answer, above, criterion
from simgrid_broker.policy.software.architecture import Architecture, parse_architecture
from simgrid_broker.policy.software.check import (
    ALLOWED,
    ANY,
    NIGHTLIES_REPOSITORY,
    NO_CACHE,
    NO_PLATFORM,
    RELEASES_REPOSITORY,
    Release,
    answer,
    entry_of,
    has_container,
    has_hardware,
    has_platform,
    has_tag,
    is_reserved,
    need_of,
    takes_images,
)
from simgrid_broker.views import PublishedSoftware, QueueSoftware, Task

STEP_2 = "PanDA brokerage documentation, analysis job brokerage, step 2"
STEP_3 = "PanDA brokerage documentation, analysis job brokerage, step 3"
NAMED = ("preassigned", "siteendpoint")
LISTED = (*NAMED, "includedsite")


class Terms(NamedTuple):
    """Terms in which the editions of these rules differ.

    closed, closed_unless_named: statuses of queues that get no jobs; names_all: a task with a list names every queue,
    else those on it; reads_auto: the item AUTO lets others in; matches: test for the name of a queue and an item.
    """

    closed: tuple[QueueStatus, ...]
    closed_unless_named: tuple[QueueStatus, ...]
    names_all: bool
    reads_auto: bool
    matches: Callable[[str, str], bool]


def _found_in(name: str, pattern: str) -> bool:
    if "*" not in pattern:
        return name == pattern
    return re.search(".*".join(map(re.escape, pattern.split("*"))), name) is not None


TERMS = ByEdition(
    Terms((), tuple(status for status in QueueStatus if status != QueueStatus.ONLINE), False, False, fnmatchcase),
    Terms((QueueStatus.OFFLINE,), (QueueStatus.BROKEROFF, QueueStatus.TEST), True, True, _found_in))
"""Source: brokerage reference, 3.2 and 3.3 A2 (D30, D31); a pattern with `*` is looked for anywhere in the name."""


def is_preassigned(case: AnalysisCase) -> np.ndarray:
    """Candidates of the PanDA queue to which the task is pre-assigned, (n,) bool."""
    return case.queues.queue == preassigned_queue(case.task)


def has_site(case: AnalysisCase) -> bool:
    """True if a task is pre-assigned to a PanDA queue: PanDA's flag SINGLE."""
    return preassigned_queue(case.task) >= 0


def has_none(case: AnalysisCase) -> bool:
    """True if a task is not pre-assigned to a PanDA queue."""
    return not has_site(case)


@criterion("-capability", says="not for analysis", panda="list of preliminary candidates", static=NAMED,
           source=f"{STEP_2}; brokerage reference, 3.2")
def not_for_analysis(case: AnalysisCase) -> np.ndarray:
    """Refuse queues that are neither of type analysis nor unified, unless the task names one; PanDA logs none.

    Of a unified queue for production that it names PanDA has no candidates.
    """
    queues = case.queues
    return ~((queues.analysis & queues.ordinary) | (is_preassigned(case) & ~queues.unified))


@criterion("-preassign", says="the task names another queue", applies=has_site, static=NAMED,
           panda="list of preliminary candidates", source=STEP_2, editions=("documented",))
def names_another_queue(case: AnalysisCase) -> np.ndarray:
    """Refuse all queues but the one to which the task is pre-assigned."""
    return ~is_preassigned(case)


@criterion("-status", says="{text}", text=question.status, panda="selection for status", stage="status check",
           static=LISTED, source=f"{STEP_3}; brokerage reference, 3.3 A2 (D31)")
def not_accepting(case: AnalysisCase) -> np.ndarray:
    """Refuse queues that are not online, unless they are pre-assigned (D31).

    The deployed edition refuses those that are offline, and in brokeroff or test unless the task names the queue or a
    list.
    """
    status, terms = case.queues.status, TERMS[case.edition]
    return np.isin(status, terms.closed) | (np.isin(status, terms.closed_unless_named) & ~is_named(case))


def is_named(case: AnalysisCase) -> np.ndarray:
    """Candidates that count as pre-assigned: of the queue named, or, with a list, all (deployed) or those on it."""
    if case.task.includedsite is None:
        return is_preassigned(case)
    if TERMS[case.edition].names_all:
        return np.ones(case.n_candidates, bool)
    return is_preassigned(case) | matched(case, case.task.includedsite)


@criterion("-zeroshare", says="sub-policy {text}", text=question.sub_policy, applies=has_none,
           panda="selection for zero share", stage="zero share check", static=(*NAMED, *TASK_FIELDS),
           editions=("deployed",), source="brokerage reference, 3.3 A3 and 6")
def no_share_there(case: AnalysisCase) -> np.ndarray:
    """Refuse queues whose `fairsharepolicy` gives the task nothing, unless the task names its queue."""
    fields = {name: getattr(case.task, name) for name in TASK_FIELDS}
    policies = case.queues.fairsharepolicy
    zero = {policy: has_zero_share(policy, edition=case.edition, **fields) for policy in dict.fromkeys(policies)}
    return np.array([zero[policy] for policy in policies], bool)


CORES: Any = {"panda": "selection for CPU core count", "stage": "CPU core check",
              "source": f"{STEP_3}; brokerage reference, 3.3 A7"}


def asks_for_cores(case: AnalysisCase) -> bool:
    """True if jobs go to single-core queues only, or to multi-core ones only."""
    return case.task.corecount != ANY_CORES


@criterion("-cpucore", unit="cores", says="slots of {value}, jobs of {limit}", applies=asks_for_cores,
           static=("corecount",), **CORES)
def cores_mismatch(case: AnalysisCase) -> Answer:
    """Refuse single-core queues to multi-core jobs and the reverse; jobs of any core count may go to both."""
    cores, slots = case.task.corecount, case.queues.corecount
    return Answer(slots > 1 if cores == 1 else slots <= 1, slots, cores)


@criterion("-max_cpucore", unit="cores", says="slots of {value}, at most {limit:plain}",
           static=("maxcorecount",), **CORES | {"source": "brokerage reference, 3.3 A7"})
def above_max_cores(case: AnalysisCase) -> Answer:
    """Refuse queues with more cores than the task's maxCoreCount."""
    return above(case.queues.corecount, case.task.maxcorecount)


def brings_no_software(case: AnalysisCase) -> bool:
    """True if the architecture of GPU queues concerns the task."""
    return not case.task.is_hpo


@criterion("-architecture", says="a GPU queue without the platform asked for", applies=brings_no_software,
           panda="selection for GPU and architecture", stage="architecture check", editions=("deployed",),
           static=("architecture", "is_hpo"), source="brokerage reference, 3.3 A8 and 5.5")
def gpu_without_platform(case: AnalysisCase) -> np.ndarray:
    """Refuse GPU queues to tasks without a platform, and those that do not publish it; PanDA logs no tag.

    Optimisation of hyper-parameters is spared. What the task asks of CPU or GPU does not count here.
    """
    if not case.queues.gpu.any():
        return case.queues.gpu
    platform = parse_architecture(case.task.architecture, case.edition).sw_platform
    distinct, number = case.queues.distinct_software
    entries = [entry_of(software, case.edition) for software in distinct]
    fits = np.array([bool(platform) and entry is not None
                     and not is_reserved(Architecture(platform), entry.architectures, case.edition)
                     for entry in entries], bool)
    return case.queues.gpu & ~fits[number]


def reads_directly_only(case: AnalysisCase) -> bool:
    """True if jobs must read their input directly from a storage; merge jobs need not."""
    return case.task.allowinputlan == ONLY and not case.task.is_merging


@criterion("-remoteio", says="input cannot be read directly from its storage",
           applies=reads_directly_only, panda="selection for direct access", stage="scratch disk check",
           static=("allowinputlan", "is_merging"), source="brokerage reference, 3.3 A12 and 2.3 P13")
def cannot_read_directly(case: AnalysisCase) -> np.ndarray:
    """Refuse queues without direct reading to tasks that use nothing else, merge jobs apart."""
    return ~case.queues.direct_io


# ---- lists ---------------------------------------------------------------------------------------------------------

SITES: Any = {"panda": "inclusion and exclusion", "stage": "include/exclude check",
              "source": f"{STEP_2}; brokerage reference, 3.2 and 3.3 A18 (D30)"}


def excludes(case: AnalysisCase) -> bool:
    """True if a task excludes queues."""
    return bool(case.task.excludedsite)


def includes(case: AnalysisCase) -> bool:
    """True if a task has a list of queues, or names a storage."""
    return case.task.includedsite is not None or case.task.siteendpoint >= 0


@criterion("-excluded", says="on the task's excludedSite", applies=excludes, static=("excludedsite",), **SITES)
def excluded(case: AnalysisCase) -> np.ndarray:
    """Refuse queues that match an item of excludedSite; `*` is any text (D30)."""
    return matched(case, case.task.excludedsite)


@criterion("-notincluded", says="not on the task's includedSite", applies=includes, static=LISTED, **SITES)
def not_included(case: AnalysisCase) -> np.ndarray:
    """Refuse queues that match no item of includedSite, or do not read the storage named as `site` (D30).

    Queues that the item AUTO lets in are refused later if listed ones are left.
    """
    reads = case.queues.reads_analysis
    if case.task.siteendpoint >= 0:
        inside = np.array([case.task.siteendpoint in used for used in reads], bool)
        if inside.any():
            return ~inside
    patterns = case.task.includedsite
    if patterns is None or (AUTO in patterns and TERMS[case.edition].reads_auto):
        return np.zeros(case.n_candidates, bool)
    return ~matched(case, patterns)


def names_cloud(case: AnalysisCase) -> bool:
    """True if a task names the cloud of its queues."""
    return case.task.cloud not in ("", "any")


@criterion("-cloudmismatch", says="of another cloud", applies=names_cloud, static=("cloud",), editions=("deployed",),
           **SITES | {"source": "brokerage reference, 3.3 A18"})
def of_another_cloud(case: AnalysisCase) -> np.ndarray:
    """Refuse queues of another cloud than the one that the task names."""
    return np.array([cloud != case.task.cloud for cloud in case.queues.cloud], bool)


def matched(case: AnalysisCase, patterns: Iterable[str]) -> np.ndarray:
    """Candidates whose PanDA queue matches a pattern, (n,) bool."""
    matches = TERMS[case.edition].matches
    wanted = [pattern for pattern in patterns if pattern]
    names = [name.partition("/")[0] for name in case.queues.names]
    fits = {name: any(matches(name, pattern) for pattern in wanted) for name in dict.fromkeys(names)}
    return np.array([fits[name] for name in names], bool)


# ---- software --------------------------------------------------------------------------------------------------------

STANDALONE, TRANSFORMS = "", "AnalysisTransforms"
BASE_PROJECT = "AtlasOffline"
"""Project of the release that `transUses` names."""
FIELDS = ("architecture", "transhome", "transuses", "container_name", "only_tags_for_fc", "preassigned", "siteendpoint")
BOTH: Any = {"panda": "selection for release", "stage": "SW/HW check", "static": FIELDS, "applies": has_none,
             "source": f"{STEP_3}; brokerage reference, 3.3 A10 and 5.5"}


class Wanted(NamedTuple):
    """Software that a task asks of a queue with AUTO; release: None = nothing of it; only_cvmfs: tags do not do."""

    release: Release | None
    only_cvmfs: bool = False


@criterion(NO_CACHE, says="it does not have {text}", text=question.software, **BOTH)
def release_missing(case: AnalysisCase) -> np.ndarray:
    """Refuse queues without the release, container, CPU or GPU that the task asks for, unless it names its queue.

    Those with ANY pass, in the deployed edition if the task asks for neither CPU nor GPU.
    """
    return _answered(case, NO_CACHE)


@criterion(NO_PLATFORM, says="it has no platform for {text}", text=question.platform, **BOTH)
def platform_unresolved(case: AnalysisCase) -> np.ndarray:
    """Refuse queues that have no platform for the regular expression of the task."""
    return _answered(case, NO_PLATFORM)


def _answered(case: AnalysisCase, tag: str) -> np.ndarray:
    """Candidates for which the check gives `tag`, (n,) bool."""
    distinct, number = case.queues.distinct_software
    tags = [ANSWERS[case.edition](case, software) for software in distinct]
    return np.array([each == tag for each in tags], bool)[number]


def answer_of_production(case: AnalysisCase, software: QueueSoftware) -> str:
    """The tag with which the check of production refuses a queue, "" if it does not."""
    task = case.task
    need = need_of(task.architecture, rest_of(task.transhome), task.container_name, task.only_tags_for_fc,
                   case.edition)
    return ALLOWED if need is None else answer(software, need, case.queues.software_of_all, case.edition)


def answer_of_analysis(case: AnalysisCase, software: QueueSoftware) -> str:
    """The tag with which the check of analysis refuses a queue, "" if it does not."""
    task, everywhere = case.task, case.queues.software_of_all
    asked, published = parse_architecture(task.architecture, case.edition), entry_of(software, case.edition)
    if published is not None and has_hardware(asked, published.architectures, software.gpus, case.edition) and (
            _has_software(published, task, asked, everywhere)):
        return ALLOWED if has_platform(published, asked.sw_platform, case.edition) else NO_PLATFORM
    takes_any = software.releases == ("ANY",) and not asked.cpu_specs and asked.gpu_spec is None
    return ALLOWED if takes_any else NO_CACHE


ANSWERS = ByEdition(answer_of_production, answer_of_analysis)
"""Check of the software of a queue."""


def _has_software(published: PublishedSoftware, task: Task, asked: Architecture,
                  everywhere: PublishedSoftware | None) -> bool:
    """True if a queue with AUTO has what a task asks for; source: brokerage reference, 5.2 and 5.5."""
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
    """Software that transHome and transUses ask for; None = nothing that a queue with AUTO could have."""
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
    """The text behind the first dash of a transHome, with dashes for underscores."""
    return re.sub(r"^[^-]+-*", "", transhome).replace("_", "-")


def is_nightly(rest: str) -> bool:
    """True if a transHome names a nightly: by its time, since `rel_` has lost its underscore."""
    return re.search(r"\d{4}-\d{2}-\d{2}T\d{4}$", rest) is not None


def _release(rest: str) -> Release:
    project, _, version = rest.partition("-")
    return Release(project, version.partition("-")[0], RELEASES_REPOSITORY)

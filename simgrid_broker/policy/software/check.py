"""True if a queue has the software and hardware that a task needs: the checks for releases AUTO and ANY, and CPUs and
GPUs by CRIC and by reports of worker nodes.

Sources: PanDA brokerage documentation, release/cache availability check for releases=AUTO, checks for CPU and GPU
hardware; brokerage reference, sections 5.2 to 5.4 (D37 to D41). A requirement that makes PanDA fail refuses the queue.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from simgrid_broker.policy.software.architecture import (
    CONSTRAINTS,
    WILDCARD,
    Architecture,
    CpuSpec,
    GpuSpec,
    parse_architecture,
)
from simgrid_broker.policy.software.comparisons import TERMS, BadPattern, covers, pattern, satisfies, starts
from simgrid_broker.views import Hardware, PublishedSoftware, QueueSoftware, WorkerNodeGpu

ANY, EXCLUSIVE = "any", "excl"
"""Words in CRIC's lists; source: formats reference, section 6."""
NOT_ASKED = (None, WILDCARD)

Listed = tuple[str, ...] | None


class _MissingField(ValueError):
    """A requirement without the field that PanDA reads: PanDA fails on it."""


def has_hardware(asked: Architecture, published: tuple[Hardware, ...], gpus: tuple[WorkerNodeGpu, ...],
                 edition: str) -> bool:
    """True if a queue with this hardware may get work with these requirements."""
    cpu, gpu = of_kind("cpu", published, edition), of_kind("gpu", published, edition)
    if is_reserved(asked, published, edition):
        return False
    try:
        return ((not asked.cpu_specs or any(_has_cpu(asked.cpu_specs, each, edition) for each in cpu))
                and (asked.gpu_spec is None or bool(gpu) and _has_gpu(asked.gpu_spec, gpus, edition)))
    except (_MissingField, BadPattern):
        return False


def is_reserved(asked: Architecture, published: tuple[Hardware, ...], edition: str) -> bool:
    """True if a queue is only for tasks that ask for its CPU or GPU, and the task does not."""
    return (not asked.cpu_specs and _exclusive(of_kind("cpu", published, edition))
            or asked.gpu_spec is None and _exclusive(of_kind("gpu", published, edition)))


def of_kind(kind: str, published: tuple[Hardware, ...], edition: str) -> tuple[Hardware, ...]:
    """Entries of one kind; the deployed edition knows only the last one of each kind."""
    found = tuple(each for each in published if each.type == kind)
    return found[-1:] if TERMS[edition].last_entry else found


def _exclusive(hardware: tuple[Hardware, ...]) -> bool:
    """True if the queue is only for tasks that ask for such hardware."""
    return any(EXCLUSIVE in (listed or ()) for each in hardware
               for listed in (each.arch, each.instr, each.vendor, each.model))


def _has_cpu(specs: tuple[CpuSpec, ...], cpu: Hardware, edition: str) -> bool:
    """True if one of the alternatives is at hand."""
    return any(_has_arch(spec.arch, cpu.arch, edition) and _has_word(spec.vendor, cpu.vendor, edition)
               and _has_word(spec.instr, cpu.instr, edition) for spec in specs)


def _has_arch(asked: str | None, listed: Listed, edition: str) -> bool:
    """True if an architecture is among those of the queue, as a word or as a regular expression for one."""
    if TERMS[edition].needs_arch and (asked is None or listed is None):
        raise _MissingField("arch")
    return _has_word(asked, listed, edition) or (
        asked not in NOT_ASKED and any(covers(asked, word) for word in listed or ()))


def _has_word(asked: str | None, listed: Listed, edition: str) -> bool:
    """True if the queue lists a word; in the documented edition an empty word in the list matches any (D38)."""
    if asked in NOT_ASKED:
        return EXCLUSIVE not in (listed or ())
    return listed is not None and (ANY in listed or asked in listed or (TERMS[edition].empty_is_any and "" in listed))


def _has_gpu(asked: GpuSpec, gpus: tuple[WorkerNodeGpu, ...], edition: str) -> bool:
    """True if worker nodes reported what is asked for; without reports a queue has any GPU, but no specific one."""
    if asked == GpuSpec():
        return True
    if not gpus or (asked.excl and any(starts(asked.model, gpu.model or "") for gpu in gpus)):
        return False
    if TERMS[edition].kinds_apart:
        return _all_kinds(asked, gpus, edition)
    return any(_is_named(asked, gpu) and _is_of(asked, gpu) and _measures(asked, gpu, edition) for gpu in gpus)


def _all_kinds(asked: GpuSpec, gpus: tuple[WorkerNodeGpu, ...], edition: str) -> bool:
    """True if some kind has the vendor, some the model, some the microarchitecture, and all of them the figures."""
    vendor, model = GpuSpec(vendor=asked.vendor), GpuSpec(model=asked.model, excl=asked.excl)
    return (any(_is_named(vendor, gpu) for gpu in gpus) and any(_is_named(model, gpu) for gpu in gpus)
            and any(_is_of(asked, gpu) for gpu in gpus) and all(_measures(asked, gpu, edition) for gpu in gpus))


def _is_named(asked: GpuSpec, gpu: WorkerNodeGpu) -> bool:
    """True if vendor and model fit; a model that is to be excluded is not looked at."""
    return ((asked.vendor == WILDCARD or starts(asked.vendor, gpu.vendor or ""))
            and (asked.model == WILDCARD or asked.excl or starts(asked.model, gpu.model or "")))


def _is_of(asked: GpuSpec, gpu: WorkerNodeGpu) -> bool:
    """True if the microarchitecture is one of those asked for."""
    return not asked.microarchitecture or gpu.microarchitecture in asked.microarchitecture


def _measures(asked: GpuSpec, gpu: WorkerNodeGpu, edition: str) -> bool:
    """True if memory, CUDA and driver are known and meet what is asked for."""
    return all(wanted is None or (found is not None and satisfies(found, wanted, edition))
               for wanted, found in ((getattr(asked, name), getattr(gpu, name)) for name in CONSTRAINTS))


ALLOWED, NO_CACHE, NO_PLATFORM = "", "-cache", "-regexpcmtconfig"
"""Answers: PanDA's tags, or nothing."""
CVMFS = "/cvmfs"
"""Container source of all images that are unpacked on CVMFS."""
RELEASES_REPOSITORY, NIGHTLIES_REPOSITORY = "atlas", "nightlies"
"""CVMFS repositories; source: PanDA brokerage documentation, checks for releases, caches, or nightlies."""

_BASE_RELEASE = re.compile(r"-\d+\.\d+\.\d+$")
_OF_CPUS = re.compile(r"\(([^()]+)\)(-.+)")
"""A platform with alternatives of CPU in front, and the rest of it."""
_NIGHTLY = re.compile(r"rel_\d+$|\d{4}-\d{2}-\d{2}T\d{4}$")


@dataclass(frozen=True)
class Release:
    """Meaning of a transHome: project and version ("" = none), and the CVMFS repository with the release."""

    project: str
    version: str
    cvmfs_tag: str


@dataclass(frozen=True)
class Need:
    """Needs of a task at a queue; release: None = none; impossible: PanDA fails on it at every queue."""

    architecture: Architecture
    release: Release | None
    container_name: str
    only_tags_for_fc: bool
    impossible: bool


@lru_cache(maxsize=4096)
def need_of(architecture: str, transhome: str, container_name: str, only_tags_for_fc: bool,
            edition: str) -> Need | None:
    """Needs of a task with these parameters; None if nothing is checked.

    The deployed edition checks only tasks with a transHome (brokerage reference, 5.4); as documented there is no such
    condition.
    """
    if not (transhome if TERMS[edition].by_transhome else transhome or architecture or container_name):
        return None
    asked = parse_architecture(architecture, edition)
    release = release_of(transhome) if transhome else None
    no_version = release is not None and release.cvmfs_tag == RELEASES_REPOSITORY and not release.version
    return Need(asked, release, container_name, only_tags_for_fc,
                bool(asked.unreadable) or (no_version and TERMS[edition].needs_version)
                or not (TERMS[edition].malformed_is_literal or _is_pattern(asked.sw_platform)))


def release_of(transhome: str) -> Release:
    """Release or nightly that a transHome names; source: brokerage reference, 5.4."""
    if _NIGHTLY.search(transhome) and not _BASE_RELEASE.search(transhome):
        return Release("", "", NIGHTLIES_REPOSITORY)
    project, *rest = transhome.split("-")
    return Release(project, rest[0] if rest else "", RELEASES_REPOSITORY)


def answer(software: QueueSoftware, need: Need, everywhere: PublishedSoftware | None, edition: str) -> str:
    """The tag with which a queue is refused to a task, "" if it is not; everywhere: CRIC's entry ALL."""
    if need.impossible:
        return NO_CACHE
    published = entry_of(software, edition)
    if published is not None and _passes(published, software, need, everywhere, edition):
        return ALLOWED if has_platform(published, need.architecture.sw_platform, edition) else NO_PLATFORM
    return ALLOWED if _takes_any(software, need, edition) else NO_CACHE


def preference(software: QueueSoftware, need: Need, edition: str) -> float | None:
    """1 + the fraction of worker nodes with the CPU level that a task prefers; None if the check does not get there.

    Source: brokerage reference, 5.2, point 2.
    """
    level, published = need.architecture.preferred_level, entry_of(software, edition)
    if not level or published is None or is_reserved(need.architecture, published.architectures, edition):
        return None
    return 1 + dict(software.cpu_levels).get(level, 0.0) / 100


def entry_of(software: QueueSoftware, edition: str) -> PublishedSoftware | None:
    """Entry that a queue publishes for the AUTO check; None if the check is not made."""
    auto = software.releases == ("AUTO",) if TERMS[edition].alone else "AUTO" in software.releases
    return software.published if auto else None


def _takes_any(software: QueueSoftware, need: Need, edition: str) -> bool:
    """True if a queue is not checked; the deployed edition checks it for tasks that ask for a CPU or GPU (D37)."""
    if not TERMS[edition].alone:
        return "ANY" in software.releases
    asked = need.architecture
    return (software.releases == ("ANY",) and not asked.cpu_specs and asked.gpu_spec is None
            and not (need.container_name and need.only_tags_for_fc))


def _passes(published: PublishedSoftware, software: QueueSoftware, need: Need, everywhere: PublishedSoftware | None,
            edition: str) -> bool:
    """True if a queue that publishes its software has what is needed; source: brokerage reference, 5.2."""
    if not has_hardware(need.architecture, published.architectures, software.gpus, edition):
        return False
    if need.container_name:
        only_tags = need.only_tags_for_fc
        if TERMS[edition].tags_of_all or only_tags:
            return has_container(published, need.container_name, only_tags, everywhere)
        return _takes_image(published, need.container_name, everywhere)
    return need.release is None or _has_release(published, need.release, need.architecture, edition)


def has_container(published: PublishedSoftware, name: str, only_tags: bool,
                  everywhere: PublishedSoftware | None) -> bool:
    """True if a fat container is among the tags, or can be had otherwise; source: brokerage reference, 5.3.

    As documented, tags count only for tasks that want nothing else; in the deployed edition they count for all tasks.
    """
    if any(name == tag.container_name or name in tag.sources for tag in published.tags):
        return True
    return not only_tags and _takes_image(published, name, everywhere)


def _takes_image(published: PublishedSoftware, name: str, everywhere: PublishedSoftware | None) -> bool:
    """True if a container can be started from one of its sources."""
    sources = [source for tag in (everywhere.tags if everywhere else ()) if tag.container_name == name
               for source in tag.sources]
    return takes_images(published) or any(image.startswith(known) for image in (name, *sources)
                                          for known in published.containers)


def takes_images(published: PublishedSoftware) -> bool:
    """True if any image can be started."""
    return ANY in published.containers or CVMFS in published.containers


def _has_release(published: PublishedSoftware, release: Release, asked: Architecture, edition: str) -> bool:
    """True if a release or nightly is on CVMFS, or installed with a tag.

    In the deployed edition a tag counts only where CVMFS lacks the repository (D41), a base platform needs containers,
    and a regular expression is no platform that could be installed.
    """
    on_cvmfs = ANY in published.cvmfs or release.cvmfs_tag in published.cvmfs
    if TERMS[edition].by_cvmfs:
        if not on_cvmfs:
            return _has_tag(published, release, asked, asked.sw_platform)
        return takes_images(published) or (not asked.base_platform and asked.sw_platform in published.cmtconfigs)
    platform = resolved_platform(published, asked.sw_platform) or asked.sw_platform
    return ((on_cvmfs and (takes_images(published) or platform in published.cmtconfigs))
            or _has_tag(published, release, asked, platform))


def _has_tag(published: PublishedSoftware, release: Release, asked: Architecture, platform: str) -> bool:
    """True if a release is among the tags; with a base platform only where any image can be started."""
    return (not asked.base_platform or ANY in published.containers) and has_tag(published, release, platform)


def has_tag(published: PublishedSoftware, release: Release, platform: str) -> bool:
    """True if a tag has platform, project and version."""
    wanted = platform, release.project, release.version
    return any((tag.cmtconfig, tag.project, tag.release) == wanted for tag in published.tags if tag.project)


def has_platform(published: PublishedSoftware, platform: str, edition: str) -> bool:
    """True if a platform is a name, or a regular expression that a queue resolves; source: brokerage reference, 5.4.

    From release 1.0.4 on, alternatives of CPU before a name, such as `(x86_64|aarch64)-el9-gcc13-opt`, are resolved
    where the queue has one of these CPUs, whichever platforms it publishes.
    """
    if not _is_pattern(platform) or covers(platform, platform):       # an expression does not match itself
        return True
    return (resolved_platform(published, platform) is not None
            or (TERMS[edition].by_cpu and _has_alternative(published, platform, edition)))


def _has_alternative(published: PublishedSoftware, platform: str, edition: str) -> bool:
    """True if a queue has one of the CPUs that a platform begins with."""
    found = _OF_CPUS.fullmatch(platform)
    return found is not None and covers(found[2], found[2]) and any(
        arch in (cpu.arch or ()) for cpu in of_kind("cpu", published.architectures, edition)
        for arch in found[1].split("|"))


def resolved_platform(published: PublishedSoftware, platform: str) -> str | None:
    """The platform itself if the queue has it, else the first that it matches as a regular expression, or None."""
    if platform in published.cmtconfigs:
        return platform
    return next((known for known in published.cmtconfigs if covers(platform, known)), None)


def _is_pattern(text: str) -> bool:
    """True if a text is a regular expression."""
    try:
        pattern(text)
    except BadPattern:
        return False
    return True

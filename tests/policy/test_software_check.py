"""Queues against what tasks need: pictures of one queue, the documented example, and the criteria over many queues."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_builders import cfg, job_case, queues, stats, task

from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.production import candidates as rules
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.software.check import Release, answer, need_of, preference, release_of
from simgrid_broker.schema import queues as models
from simgrid_broker.schema.part import Part
from simgrid_broker.views import QueueSoftware

pytestmark = pytest.mark.rule("answer", "need_of", "preference", "has_hardware", "is_reserved", "software_missing",
                              "platform_missing", "cpu_preference", "comparisons.starts", "comparisons.covers")


def positional(model):
    """A function that makes a model of values in the order of its keys."""
    return lambda *values, **fields: model(**dict(zip(model.model_fields, values, strict=False)), **fields)


def replace(thing, **fields):
    """A copy of a model or dataclass with other fields."""
    return thing.model_copy(update=fields) if isinstance(thing, Part) else dataclasses.replace(thing, **fields)


Hardware, InstalledRelease = positional(models.Hardware), positional(models.InstalledRelease)
PublishedSoftware, WorkerNodeGpu = positional(models.PublishedSoftware), positional(models.WorkerNodeGpu)

PLATFORM = "x86_64-slc6-gcc62-opt"
X86 = Hardware("cpu", arch=("x86_64",), instr=("avx2",), vendor=("intel",))
ANY_GPU = Hardware("gpu", vendor=("nvidia",))
A100 = WorkerNodeGpu("NVIDIA", "NVIDIA A100-SXM4-80GB", "81920", "Ampere", "12.4", "580.82.07")
T4 = WorkerNodeGpu("NVIDIA", "Tesla T4", "15360", "Turing", "12.4", "580.82.07")
P100 = WorkerNodeGpu("NVIDIA", "Tesla P100-PCIE-16GB", "16384", "Pascal", "11.8", "520.61.05")
ATHENA = InstalledRelease("Athena", "21.0.38", PLATFORM)
OPEN = PublishedSoftware((PLATFORM,), ("any", "/cvmfs"), ("atlas", "nightlies"), (X86, ANY_GPU))

AGLT2 = PublishedSoftware(
    ("x86_64-centos7-gcc62-opt", "x86_64-centos7-gcc8-opt", "x86_64-slc6-gcc49-opt", PLATFORM, "x86_64-slc6-gcc8-opt"),
    ("any", "/cvmfs"), ("atlas", "nightlies"),
    (Hardware("cpu", arch=("x86_64",), instr=("avx2",), vendor=("intel", "excl")),
     Hardware("gpu", vendor=("nvidia", "excl"), model=("kt100",))),
    (InstalledRelease("AthDerivation", "21.2.2.0", PLATFORM), ATHENA))
"""The example of the documentation."""


def said(edition, published=OPEN, gpus=(), releases=("AUTO",), everywhere=None, architecture="",
         transhome="Athena-21.0.38", container_name="", only_tags_for_fc=False):
    """The answer of one queue to one task."""
    need = need_of(architecture, transhome, container_name, only_tags_for_fc, edition)
    return answer(QueueSoftware(releases, published, gpus), need, everywhere, edition)


def both(**picture):
    """Whether the task may go to the queue, in the editions documented and deployed."""
    return tuple(said(edition, **picture) == "" for edition in ("documented", "deployed"))


def have(**fields):
    """An open queue that publishes something else."""
    return replace(OPEN, **fields)


def with_cpu(**fields):
    """An open queue with another CPU."""
    return have(architectures=(replace(X86, **fields),))


YES, NO = (True, True), (False, False)
ONLY_DOCUMENTED, ONLY_DEPLOYED = (True, False), (False, True)


# ---- CPU ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("asked", "published", "fits"), [
    pytest.param("#x86_64", with_cpu(arch=("x86_64",)), YES, id="the same architecture"),
    pytest.param("#x86_64", with_cpu(arch=("x86_64", "excl")), YES, id="the same, exclusively"),
    pytest.param("#x86_64", with_cpu(arch=("arm64",)), NO, id="another architecture"),
    pytest.param("#x86_64", with_cpu(arch=("any",)), YES, id="any architecture"),
    pytest.param("#x86_64", with_cpu(arch=("",)), ONLY_DOCUMENTED, id="D38 an empty architecture stands for any"),
    pytest.param("#x86_64", with_cpu(arch=None), NO, id="no architecture published"),
    pytest.param("#(x86_64|aarch64)", with_cpu(arch=("aarch64",)), YES, id="the second alternative"),
    pytest.param('{"cpu_specs": [{"arch": "(x86_64|aarch64)"}]}', with_cpu(arch=("aarch64",)), YES, id="a pattern"),
    pytest.param('{"cpu_specs": [{"arch": "x86"}]}', with_cpu(), NO, id="a pattern for the beginning only"),
    pytest.param("#x86_64-intel", with_cpu(), YES, id="the vendor"),
    pytest.param("#x86_64-amd", with_cpu(), NO, id="another vendor"),
    pytest.param("#x86_64-amd", with_cpu(vendor=("any",)), YES, id="any vendor"),
    pytest.param("#x86_64-amd", with_cpu(vendor=("",)), ONLY_DOCUMENTED, id="D38 an empty vendor stands for any"),
    pytest.param("#x86_64-amd", with_cpu(vendor=None), NO, id="no vendor published"),
    pytest.param("#x86_64", with_cpu(vendor=None), YES, id="no vendor published nor asked for"),
    pytest.param("#x86_64", with_cpu(vendor=("intel", "excl")), NO, id="a vendor must be asked for"),
    pytest.param("#x86_64-int.*", with_cpu(), NO, id="vendors are no patterns"),
    pytest.param("#x86_64-intel-avx2", with_cpu(), YES, id="the instruction set"),
    pytest.param("#x86_64-intel-avx512", with_cpu(), NO, id="another instruction set"),
    pytest.param("#x86_64-*-avx2", with_cpu(), YES, id="any vendor with the instruction set"),
    pytest.param('{"cpu_specs": [{"arch": "*"}]}', with_cpu(), YES, id="any architecture asked for"),
    pytest.param('{"cpu_specs": [{"arch": "*"}]}', with_cpu(arch=("x86_64", "excl")), NO, id="it must be asked for"),
    pytest.param('{"cpu_specs": [{"vendor": "intel"}]}', with_cpu(), ONLY_DOCUMENTED, id="the code needs an arch"),
    pytest.param('{"cpu_specs": [{"arch": "(x"}, {"arch": "x86_64"}]}', with_cpu(), NO, id="a bad pattern"),
    pytest.param("#x86_64", have(architectures=()), NO, id="no hardware published"),
    pytest.param("#x86_64", have(architectures=(ANY_GPU,)), NO, id="no CPU published"),
    pytest.param("", with_cpu(arch=("x86_64", "excl")), NO, id="only for tasks that name a CPU"),
    pytest.param("", have(architectures=()), YES, id="nothing asked, nothing published"),
    pytest.param(PLATFORM, with_cpu(), YES, id="the platform names the CPU"),
    pytest.param(PLATFORM, with_cpu(arch=("aarch64",)), NO, id="the platform names another CPU"),
])
def test_cpus(asked, published, fits):
    assert both(architecture=asked, published=published) == fits


# ---- GPU ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("asked", "gpus", "fits"), [
    pytest.param("#&nvidia", (A100,), YES, id="the vendor"),
    pytest.param("#&amd", (A100,), NO, id="another vendor"),
    pytest.param("#&nvidia", (), NO, id="a vendor without reports of worker nodes"),
    pytest.param('{"gpu_spec": {}}', (), YES, id="any GPU without reports"),
    pytest.param("#&nvidia:model=.*a100.*", (A100,), YES, id="the model, whatever the case"),
    pytest.param("#&nvidia:model=A100", (A100,), NO, id="the model from its start"),
    pytest.param("#&nvidia:model!=.*P100.*", (A100,), YES, id="not that model"),
    pytest.param("#&nvidia:model!=.*P100.*", (P100,), NO, id="that model"),
    pytest.param("#&nvidia:model!=.*P100.*", (A100, P100), NO, id="that model beside another one"),
    pytest.param("#&nvidia:model!=.*P100.*", (), NO, id="exclusion without reports"),
    pytest.param("#&nvidia:vram>=81920", (A100,), YES, id="just enough memory"),
    pytest.param("#&nvidia:vram>=81921", (A100,), NO, id="one MB short"),
    pytest.param("#&nvidia:vram==15360", (T4,), YES, id="exactly 15 GB"),
    pytest.param("#&nvidia:cuda>=12.0:uarch=Ampere", (A100,), YES, id="CUDA and microarchitecture"),
    pytest.param("#&nvidia:uarch=ampere", (A100,), NO, id="the microarchitecture is spelled exactly"),
    pytest.param('{"gpu_spec": {"microarchitecture": ["Turing", "Ampere"]}}', (A100,), YES, id="one of two"),
    pytest.param("#&nvidia:model=.*A100.*:vram>=40960:driver>=575.0", (A100,), YES, id="the documented A100"),
    pytest.param("#&nvidia:model=.*A100.*:vram>=40960:driver>=581.0", (A100,), NO, id="a later driver"),
    pytest.param("#&nvidia:driver>=575.0", (replace(A100, driver_version=None),), NO, id="an unknown driver"),
    pytest.param("#&nvidia:vram!=15360", (A100,), YES, id="D39 unequal memory"),
    pytest.param("#&nvidia:cuda!=11.8", (A100,), YES, id="D39 unequal CUDA"),
    pytest.param("#&nvidia:driver!=1", (A100,), YES, id="D39 unequal driver"),
    pytest.param("#&nvidia:vram!=81920", (A100,), NO, id="D39 the memory that is excluded"),
    pytest.param("#&nvidia:model=.*A100.*:vram>=40960", (A100, T4), ONLY_DOCUMENTED,
                 id="D40 the code wants the memory of every GPU of the queue"),
    pytest.param("#&nvidia:model=.*A100.*:uarch=Turing", (A100, T4), ONLY_DEPLOYED,
                 id="D40 the code lets different GPUs have model and microarchitecture"),
    pytest.param("#&nvidia", (A100, WorkerNodeGpu("AMD")), YES, id="one of two vendors"),
    pytest.param("#&(nvidia", (A100,), NO, id="a vendor that is no regular expression"),
    pytest.param('{"gpu_spec": {"vram": 40960}}', (A100,), NO, id="a number where text should be"),
    pytest.param("#&nvidia:vram>=big", (A100,), NO, id="no number"),
    pytest.param("", (A100,), YES, id="nothing asked of a queue with GPUs"),
])
def test_gpus(asked, gpus, fits):
    assert both(architecture=asked, gpus=gpus) == fits


def test_a_queue_without_a_gpu_in_cric_is_skipped_whatever_worker_nodes_report():
    assert both(architecture="#&nvidia", published=have(architectures=(X86,)), gpus=(A100,)) == NO
    assert both(architecture="#&nvidia", gpus=(A100,)) == YES


def test_d40_what_cric_publishes_of_a_gpu_does_not_count():
    other = have(architectures=(X86, Hardware("gpu", vendor=("amd",), model=("mi250",))))
    assert both(architecture="#&nvidia:model=.*A100.*:cuda>=12.0", published=other, gpus=(A100,)) == YES


def test_any_gpu_is_dropped_by_the_code():
    cpus_only = have(architectures=(X86,))
    assert both(architecture="#&*", published=cpus_only) == ONLY_DEPLOYED
    assert both(architecture="#&*") == YES


# ---- the example of the documentation -------------------------------------------------------------------------------

@pytest.mark.parametrize(("asked", "fits"), [
    pytest.param(PLATFORM, NO, id="its GPUs are only for GPU tasks"),
    pytest.param(PLATFORM + "&nvidia", NO, id="a vendor of CPUs must be named"),
    pytest.param(PLATFORM + "#x86_64-intel&nvidia", YES, id="Intel and NVIDIA"),
    pytest.param(PLATFORM + "#x86_64-intel-avx512&nvidia", NO, id="an instruction set that it lacks"),
    pytest.param(PLATFORM + "#aarch64-intel&nvidia", NO, id="another architecture"),
])
def test_aglt2(asked, fits):
    assert both(architecture=asked, published=AGLT2, gpus=(A100,)) == fits


# ---- releases -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("transhome", "release"), [
    pytest.param("Athena-21.0.38", Release("Athena", "21.0.38", "atlas"), id="a base release"),
    pytest.param("AthDerivation-21.2.2.0", Release("AthDerivation", "21.2.2.0", "atlas"), id="a cache"),
    pytest.param("AtlasOffline-rel_3", Release("", "", "nightlies"), id="a numbered nightly"),
    pytest.param("master-2026-08-06T2101", Release("", "", "nightlies"), id="a dated nightly"),
    pytest.param("2026-08-06T2101-1.2.3", Release("2026", "08", "atlas"), id="three numbers at the end are a release"),
    pytest.param("rel_3-Athena", Release("rel_3", "Athena", "atlas"), id="only the end tells a nightly"),
    pytest.param("Athena", Release("Athena", "", "atlas"), id="no version"),
])
def test_what_a_transhome_stands_for(transhome, release):
    assert release_of(transhome) == release


TAGGED = dict(tags=(ATHENA,))
BARE = dict(containers=(), cmtconfigs=())
BASE = PLATFORM + "@centos7"


@pytest.mark.parametrize(("published", "asked", "fits"), [
    pytest.param({}, PLATFORM, YES, id="on CVMFS with any container"),
    pytest.param(dict(containers=("/cvmfs",), cmtconfigs=()), PLATFORM, YES, id="on CVMFS with unpacked images"),
    pytest.param(dict(containers=()), PLATFORM, YES, id="on CVMFS with the platform"),
    pytest.param(BARE, PLATFORM, NO, id="on CVMFS without anything to run it in"),
    pytest.param(dict(cvmfs=("any",)), PLATFORM, YES, id="any repository"),
    pytest.param(dict(cvmfs=("nightlies",)), PLATFORM, NO, id="only nightlies and no tag"),
    pytest.param(dict(cvmfs=(), **TAGGED), PLATFORM, YES, id="installed"),
    pytest.param(dict(cvmfs=(), **BARE, **TAGGED), PLATFORM, YES, id="installed, without containers"),
    pytest.param(dict(cvmfs=(), tags=(replace(ATHENA, release="21.0.39"),)), PLATFORM, NO, id="another version"),
    pytest.param(dict(cvmfs=(), tags=(replace(ATHENA, project="AthDerivation"),)), PLATFORM, NO, id="another project"),
    pytest.param(dict(cvmfs=(), tags=(replace(ATHENA, cmtconfig="x"),)), PLATFORM, NO, id="another platform"),
    pytest.param(BARE | TAGGED, PLATFORM, ONLY_DOCUMENTED, id="D41 the code asks no tags if CVMFS has the release"),
    pytest.param(dict(containers=()), BASE, ONLY_DOCUMENTED, id="for the code a base platform needs containers"),
    pytest.param(dict(cvmfs=(), **BARE, **TAGGED), BASE, NO, id="installed, but the base platform needs any container"),
    pytest.param(dict(cvmfs=(), containers=("any",), **TAGGED), BASE, YES, id="installed, and any container"),
])
def test_releases(published, asked, fits):
    assert both(architecture=asked, published=have(**published)) == fits


@pytest.mark.parametrize(("published", "fits"), [
    pytest.param({}, YES, id="on CVMFS"),
    pytest.param(dict(cvmfs=("atlas",)), NO, id="only releases on CVMFS"),
    pytest.param(dict(cvmfs=("atlas",), tags=(InstalledRelease(cmtconfig=PLATFORM),)), NO, id="no tag is a nightly"),
])
def test_nightlies(published, fits):
    assert both(architecture=PLATFORM, transhome="master-2026-08-06T2101", published=have(**published)) == fits


PATTERN = "x86_64-(slc6|el9)-.*-opt"


@pytest.mark.parametrize(("asked", "published", "documented", "deployed"), [
    pytest.param(PATTERN, {}, "", "", id="a platform that fits"),
    pytest.param(PATTERN, dict(cmtconfigs=("x86_64-centos7-gcc8-opt",)), "-regexpcmtconfig", "-regexpcmtconfig",
                 id="none that fits"),
    pytest.param(PATTERN, dict(containers=()), "", "-cache", id="the code does not install a pattern"),
    pytest.param(PATTERN, dict(cvmfs=(), tags=(ATHENA,)), "", "-cache", id="nor finds a tag for it"),
    pytest.param(PLATFORM, dict(cmtconfigs=()), "", "", id="a plain platform need not be resolved"),
    pytest.param("x86_64-(slc6", {}, "-cache", "", id="no regular expression"),
])
def test_platforms_as_regular_expressions(asked, published, documented, deployed):
    picture = dict(architecture=asked + "#x86_64", published=have(**published))
    assert [said(edition, **picture) for edition in ("documented", "deployed")] == [documented, deployed]


# ---- containers -----------------------------------------------------------------------------------------------------

IMAGE = "atlas/athena:24"
EVERYWHERE = PublishedSoftware(tags=(InstalledRelease(container_name=IMAGE, sources=("docker://cern.ch/athena:24",)),))


@pytest.mark.parametrize(("published", "only_tags", "fits"), [
    pytest.param(dict(containers=("any",)), False, YES, id="any image"),
    pytest.param(dict(containers=("/cvmfs",)), False, YES, id="unpacked images"),
    pytest.param(dict(containers=("atlas/",)), False, YES, id="the beginning of its name"),
    pytest.param(dict(containers=("athena",)), False, NO, id="not the middle of its name"),
    pytest.param(dict(containers=("docker://cern.ch/",)), False, YES, id="the beginning of a source that ALL gives"),
    pytest.param(dict(containers=("docker://other/",)), False, NO, id="another source"),
    pytest.param(dict(containers=("any",)), True, NO, id="any image, but a tag is needed"),
    pytest.param(dict(tags=(InstalledRelease(container_name=IMAGE),)), True, YES, id="a tag of its name"),
    pytest.param(dict(tags=(InstalledRelease(sources=(IMAGE,)),)), True, YES, id="a source of a tag"),
    pytest.param(dict(tags=(InstalledRelease(container_name="atlas/"),)), True, NO, id="tags match as a whole"),
    pytest.param(dict(containers=(), tags=(InstalledRelease(container_name=IMAGE),)), False, ONLY_DEPLOYED,
                 id="the code looks at tags in any case"),
])
def test_containers(published, only_tags, fits):
    assert both(container_name=IMAGE, only_tags_for_fc=only_tags, published=have(**published),
                everywhere=EVERYWHERE) == fits


# ---- ANY, AUTO and neither ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("releases", "published", "picture", "fits"), [
    pytest.param(("ANY",), None, {}, YES, id="ANY takes a release"),
    pytest.param(("ANY",), None, dict(architecture=PLATFORM), ONLY_DOCUMENTED, id="D37 a platform names a CPU"),
    pytest.param(("ANY",), None, dict(architecture="#&nvidia"), ONLY_DOCUMENTED, id="D37 a GPU"),
    pytest.param(("ANY",), None, dict(architecture="@centos7"), YES, id="D37 a base platform alone is no CPU"),
    pytest.param(("ANY",), None, dict(container_name=IMAGE), YES, id="ANY takes a container"),
    pytest.param(("ANY",), None, dict(container_name=IMAGE, only_tags_for_fc=True), ONLY_DOCUMENTED,
                 id="the code checks containers that need a tag"),
    pytest.param(("ANY", "AUTO"), None, {}, ONLY_DOCUMENTED, id="the code wants exactly ANY"),
    pytest.param(("AUTO", "21.0.38"), OPEN, {}, ONLY_DOCUMENTED, id="the code wants exactly AUTO"),
    pytest.param(("AUTO",), None, {}, NO, id="AUTO without an entry in CRIC"),
    pytest.param(("21.0.38",), OPEN, {}, NO, id="names of releases are not looked at"),
    pytest.param((), OPEN, {}, NO, id="no releases at all"),
    pytest.param(("ANY",), None, dict(architecture='{"gpu_spec": 1}'), NO, id="what cannot be read goes nowhere"),
    pytest.param(("ANY",), None, dict(transhome="Athena"), ONLY_DOCUMENTED, id="the code stumbles without a version"),
])
def test_releases_of_the_queue(releases, published, picture, fits):
    assert both(releases=releases, published=published, **picture) == fits


@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({}, False, False, id="nothing is checked for a task without requirements"),
    pytest.param(dict(architecture="#&nvidia"), True, False, id="the code does not check without a transHome"),
    pytest.param(dict(container_name=IMAGE), True, False, id="nor containers"),
    pytest.param(dict(transhome="Athena-21.0.38"), True, True, id="a release"),
])
def test_what_is_checked_at_all(fields, documented, deployed):
    for edition, missing in (("documented", documented), ("deployed", deployed)):
        case = job_case(task(**fields), queues(1, software=(QueueSoftware(("AUTO",)),)), edition)
        assert rules.software_missing(case).tolist() == [missing]


def test_hardware_alone_needs_no_release():
    assert said("documented", architecture="#x86_64", transhome="", published=have(**BARE)) == ""


# ---- the criteria ---------------------------------------------------------------------------------------------------

GPU_QUEUE = QueueSoftware(("AUTO",), have(architectures=(X86, replace(ANY_GPU, vendor=("nvidia", "excl")))), (A100,))
CPU_QUEUE = QueueSoftware(("AUTO",), have(architectures=(X86,)), cpu_levels=(("x86-64-v3", 25.0), ("x86-64-v4", 75.0)))
OLD_QUEUE = QueueSoftware(("AUTO",), have(architectures=(X86,), cmtconfigs=("x86_64-centos7-gcc8-opt",)))
GRID = (CPU_QUEUE, GPU_QUEUE, OLD_QUEUE, CPU_QUEUE)


def test_gpu_work_goes_to_gpus_and_other_work_does_not():
    for text, wanted in (("#&nvidia", [True, False, True, True]), (PLATFORM, [False, True, False, False])):
        for edition in EDITIONS:
            case = job_case(task(architecture=text, transhome="Athena-21.0.38"), queues(4, software=GRID), edition)
            assert rules.software_missing(case).tolist() == wanted


def test_a_queue_without_a_platform_has_a_tag_of_its_own():
    case = job_case(task(architecture=PATTERN, transhome="Athena-21.0.38"), queues(4, software=GRID))
    assert rules.platform_missing(case).tolist() == [False, False, True, False]
    case = job_case(task(architecture=PATTERN + "#x86_64", transhome="Athena-21.0.38"), queues(4, software=GRID),
                    "deployed")
    assert rules.platform_missing(case).tolist() == [False, False, True, False]


@pytest.mark.parametrize(("platform", "cpu", "tag"), [
    pytest.param("(x86_64|aarch64)-el9-gcc13-opt", "x86_64", "", id="the CPU of the queue resolves the platform"),
    pytest.param("(x86_64|aarch64)-el9-gcc13-opt", "ppc64le", "-regexpcmtconfig", id="not one of the CPUs"),
    pytest.param("(x86_64|aarch64)-el9-gcc(11|13)-opt", "x86_64", "-regexpcmtconfig", id="the rest is no name"),
    pytest.param("x86_64-el(8|9)-gcc13-opt", "x86_64", "-regexpcmtconfig", id="no alternatives of CPU"),
    pytest.param("x86_64-el9-gcc(13-opt", "x86_64", "", id="malformed"),
])
def test_platforms_from_release_1_0_4_on(platform, cpu, tag):
    published = have(architectures=(replace(X86, arch=(cpu,)),), cmtconfigs=("x86_64-centos7-gcc8-opt",))
    text = json.dumps(dict(sw_platform=platform))
    assert said("deployed-1.0.4", published, architecture=text) == tag
    assert said("deployed-1.0.3", published, architecture=text) == (tag or (
        "-cache" if "gcc(13" in platform else "-regexpcmtconfig"))


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_what_cannot_be_read_is_refused_everywhere_with_the_tag(edition):
    broken = task(architecture='{"gpu_spec": 1}', transhome="Athena-21.0.38")
    verdict = broker_jobs(broken, queues(4, software=GRID), stats(4), None, cfg(), edition)
    assert [verdict.tags[code] for code in verdict.refused_by] == ["-cache"] * 4 and not verdict.order.size


def test_a_task_without_requirements_may_go_anywhere():
    view = queues(3, software=(QueueSoftware(("AUTO",)), QueueSoftware(()), GPU_QUEUE))
    for edition in EDITIONS:
        assert not rules.software_missing(job_case(task(), view, edition)).any()
        assert not rules.platform_missing(job_case(task(), view, edition)).any()


def test_a_grid_that_says_nothing_of_software_takes_any():
    for edition in EDITIONS:
        assert not rules.software_missing(job_case(task(transhome="Athena-21.0.38"), queues(2), edition)).any()


PREFERS = '{"cpu_pref": {"preferred_architecture_level": "%s"}}'


@pytest.mark.parametrize(("level", "transhome", "factor"), [
    pytest.param("x86-64-v4", "Athena-21.0.38", [1.75, 1, 1, 1.75], id="three quarters of the nodes"),
    pytest.param("x86-64-v3", "Athena-21.0.38", [1.25, 1, 1, 1.25], id="one quarter"),
    pytest.param("x86-64-v5", "Athena-21.0.38", [1, 1, 1, 1], id="a level that nobody has"),
    pytest.param("x86-64-v4", "", [1, 1, 1, 1], id="without a transHome nothing is looked at"),
])
def test_preferred_cpus_weigh_more(level, transhome, factor):
    case = job_case(task(architecture=PREFERS % level, transhome=transhome), queues(4, software=GRID), "deployed")
    assert np.broadcast_to(rules.cpu_preference(case), 4).tolist() == factor


def test_levels_of_queues_that_are_not_checked_do_not_count():
    view = queues(1, software=(QueueSoftware(("ANY",), cpu_levels=(("x86-64-v4", 75.0),)),))
    case = job_case(task(architecture=PREFERS % "x86-64-v4", transhome="Athena-21.0.38"), view, "deployed")
    assert np.broadcast_to(rules.cpu_preference(case), 1).tolist() == [1]


def test_each_description_is_asked_once():
    view = queues(4, software=GRID)
    distinct, number = view.distinct_software
    assert distinct == (CPU_QUEUE, GPU_QUEUE, OLD_QUEUE) and number.tolist() == [0, 1, 2, 0]


# ---- any task, any queue --------------------------------------------------------------------------------------------

words = st.sampled_from(["x86_64", "aarch64", "intel", "any", "excl", "", "nvidia", "avx2"])
listed = st.none() | st.lists(words, max_size=3).map(tuple)
hardware = st.builds(Hardware, st.sampled_from(["cpu", "gpu"]), listed, listed, listed, listed)
texts = st.lists(st.sampled_from(["any", "/cvmfs", "atlas", "nightlies", PLATFORM, "atlas/"]), max_size=3).map(tuple)
software = st.builds(
    QueueSoftware, st.sampled_from([("AUTO",), ("ANY",), ("AUTO", "ANY"), ()]),
    st.none() | st.builds(PublishedSoftware, texts, texts, texts, st.lists(hardware, max_size=2).map(tuple),
                          st.sampled_from([(), (ATHENA,)])),
    st.lists(st.sampled_from([A100, T4, P100, WorkerNodeGpu()]), max_size=2).map(tuple))
requirements = st.sampled_from([
    "", PLATFORM, PATTERN, "#x86_64-intel", "#(x86_64|aarch64)", "#&nvidia", "#&*", "#&nvidia:model!=.*P100.*:vram>1",
    '{"gpu_spec": {}}', "x86_64&nvidia", "(", "#&(", '{"cpu_specs": [{}]}']) | st.text(max_size=12)


@given(software, requirements, st.sampled_from(["Athena-21.0.38", "master-2026-08-06T2101", "Athena"]),
       st.sampled_from(["", IMAGE]), st.booleans())
def test_every_queue_has_an_answer(queue, architecture, transhome, container_name, only_tags):
    for edition in ("documented", "deployed"):
        need = need_of(architecture, transhome, container_name, only_tags, edition)
        assert answer(queue, need, EVERYWHERE, edition) in ("", "-cache", "-regexpcmtconfig")


@given(software, requirements)
def test_worker_nodes_matter_to_gpu_tasks_only(queue, architecture):
    for edition in ("documented", "deployed"):
        need = need_of(architecture, "Athena-21.0.38", "", False, edition)
        if need.architecture.gpu_spec is None:
            assert answer(replace(queue, gpus=()), need, None, edition) == answer(queue, need, None, edition)


ARM = Hardware("cpu", arch=("aarch64",), instr=("any",), vendor=("any",))
RESERVED = Hardware("cpu", arch=("x86_64",), instr=("any",), vendor=("any", "excl"))


@pytest.mark.parametrize(("entries", "architecture", "documented", "deployed"), [
    pytest.param((ARM, X86), "#x86_64", True, True, id="the last entry fits"),
    pytest.param((X86, ARM), "#x86_64", True, False, id="in the code the first one is forgotten"),
    pytest.param((RESERVED, X86), "", False, True, id="also if it reserves the queue"),
    pytest.param((X86, RESERVED), "", False, False, id="the last one reserves it"),
])
def test_of_several_entries_of_a_kind_the_code_knows_the_last(entries, architecture, documented, deployed):
    published = replace(OPEN, architectures=(*entries, ANY_GPU))
    assert both(published=published, architecture=architecture) == (documented, deployed)


@pytest.mark.parametrize(("releases", "entries", "architecture", "expected"), [
    pytest.param(("AUTO",), (X86,), "x86_64", 1.75, id="a quarter of the nodes lacks the level"),
    pytest.param(("AUTO",), (ARM,), "x86_64", 1.75, id="known although the CPU does not fit"),
    pytest.param(("ANY",), (X86,), "x86_64", None, id="the check is not made"),
    pytest.param(("AUTO",), (RESERVED,), None, None, id="the queue is reserved"),
    pytest.param(("AUTO",), (RESERVED,), "x86_64", 1.75, id="not for a task that asks for a CPU"),
])
def test_preference_of_a_queue(releases, entries, architecture, expected):
    cpu = "" if architecture is None else '"cpu_specs": [{"arch": "x86_64"}], '
    text = "{" + cpu + '"cpu_pref": {"preferred_architecture_level": "x86_64-v3"}}'
    software = QueueSoftware(releases, replace(OPEN, architectures=entries), cpu_levels=(("x86_64-v3", 75.0),))
    assert preference(software, need_of(text, "Athena-21.0.38", "", False, "deployed"), "deployed") == expected

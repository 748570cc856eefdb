"""Which queues analysis brokerage asks at all: lists, statuses, cores, clouds, software, hospitals, pre-assignment."""

import numpy as np
import pytest
from analysis_builders import DISK, EDITIONS, case, dataset, decide, queues, task, view, why

from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.brokerage.analysis import candidates
from simgrid_broker.views import Hardware, PublishedSoftware, QueueSoftware

AUTO = ("AUTO",)
PLATFORM = "x86_64-el9-gcc13-opt"
CVMFS = PublishedSoftware(cmtconfigs=(PLATFORM,), cvmfs=("atlas", "nightlies"), containers=("any",),
                          architectures=(Hardware(type="cpu", arch=("x86_64",)),))


def refused(rule, task_, queues_, edition="deployed"):
    """What a rule about all candidates refuses."""
    answer = rule(case(task_, queues_, view(len(queues_.records)), edition))
    return getattr(answer, "refused", answer).tolist()


@pytest.mark.rule("not_for_analysis")
@pytest.mark.parametrize("edition", EDITIONS)
def test_lists_begin_with_analysis(edition):
    grid = queues(3, analysis=[True, False, False], unified=[False, False, True])
    assert refused(candidates.not_for_analysis, task(), grid, edition) == [False, True, True]
    assert refused(candidates.not_for_analysis, task(preassigned=(1,)), grid, edition) == [False, False, True]
    assert refused(candidates.not_for_analysis, task(preassigned=(2,)), grid, edition) == [False, True, True]


S = QueueStatus


@pytest.mark.rule("not_accepting")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({}, [0, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], id="online; in the code all but three"),
    pytest.param(dict(preassigned=(3,)), [0, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1], id="the queue named may be broken"),
    pytest.param(dict(preassigned=(5,)), [0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1], id="but not offline in the code"),
    pytest.param(dict(includedsite=("Q4",)), [0, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1], id="a list spares all but one"),
])
def test_status(fields, documented, deployed):
    grid = queues(6, status=[S.ONLINE, S.STANDBY, S.PAUSED, S.BROKEROFF, S.TEST, S.OFFLINE])
    found = [refused(candidates.not_accepting, task(**fields), grid, edition) for edition in EDITIONS]
    assert found == [list(map(bool, documented)), list(map(bool, deployed))]


@pytest.mark.rule("no_share_there")
def test_zero_share():
    grid = queues(2, fairsharepolicy=("type=any:0%", ""))
    assert refused(candidates.no_share_there, task(), grid) == [True, False]
    assert refused(candidates.no_share_there, task(preassigned=(0,)), grid) == [False, False]


@pytest.mark.rule("cores_mismatch", "above_max_cores")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("fields", "expected"), [
    pytest.param(dict(corecount=1), ["", "cores_mismatch", "cores_mismatch"], id="single-core jobs"),
    pytest.param(dict(corecount=8), ["cores_mismatch", "", ""], id="multi-core jobs"),
    pytest.param(dict(corecount=0), ["", "", ""], id="any"),
    pytest.param(dict(corecount=0, is_scout=True), ["", "", ""], id="scouts of any size go anywhere"),
    pytest.param(dict(corecount=8, maxcorecount=8), ["cores_mismatch", "", "above_max_cores"], id="at most 8 cores"),
])
def test_cores(fields, expected, edition):
    assert why(task(**fields), queues(3, corecount=[1, 8, 9]), view(3), edition=edition) == expected


@pytest.mark.rule("names_another_queue")
def test_documented_list_of_a_preassigned_task():
    assert why(task(preassigned=(1,)), seen=view(2), edition="documented") == ["names_another_queue", ""]


@pytest.mark.rule("cannot_read_directly")
def test_direct_reading():
    grid = queues(2, direct_io=[True, False])
    assert refused(candidates.cannot_read_directly, task(allowinputlan="only"), grid) == [False, True]
    assert refused(candidates.cannot_read_directly, task(allowinputlan="use"), grid) == [False, False]
    assert refused(candidates.cannot_read_directly, task(allowinputlan="only", is_merging=True), grid) == [False, False]


@pytest.mark.rule("excluded", "not_included")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param(dict(excludedsite=("CERN",)), [1, 0, 0], [1, 0, 0], id="a name"),
    pytest.param(dict(excludedsite=("CERN*",)), [1, 1, 0], [1, 1, 1], id="a pattern, found anywhere in the code"),
    pytest.param(dict(includedsite=("CERN_GPU",)), [1, 0, 1], [1, 0, 1], id="included by name"),
    pytest.param(dict(includedsite=("",)), [1, 1, 1], [1, 1, 1], id="an empty item is no pattern"),
    pytest.param(dict(siteendpoint=2), [1, 1, 0], [1, 1, 0], id="those that read a storage"),
    pytest.param(dict(siteendpoint=9), [0, 0, 0], [0, 0, 0], id="a storage that nothing reads is ignored"),
])
def test_inclusion_and_exclusion(fields, documented, deployed):
    grid = queues(3, names=("CERN/SCORE", "CERN_GPU", "NOT_CERN"))
    found = [[any(both) for both in zip(refused(candidates.excluded, task(**fields), grid, edition),
                                        refused(candidates.not_included, task(**fields), grid, edition), strict=True)]
             for edition in EDITIONS]
    assert found == [list(map(bool, documented)), list(map(bool, deployed))]


@pytest.mark.rule("auto_not_needed")
def test_auto_lets_others_in_if_no_listed_queue_is_left():
    asked = task(includedsite=("Q1", "AUTO"))
    assert why(asked, seen=view(3)) == ["auto_not_needed", "", "auto_not_needed"]
    assert why(asked, queues(3, status=[S.ONLINE, S.OFFLINE, S.ONLINE]), view(3)) == ["", "not_accepting", ""]


@pytest.mark.rule("of_another_cloud")
@pytest.mark.parametrize(("cloud", "expected"), [("", [0, 0]), ("any", [0, 0]), ("US", [0, 1]), ("DE", [1, 1])])
def test_cloud(cloud, expected):
    found = refused(candidates.of_another_cloud, task(cloud=cloud), queues(2, cloud=("US", "FR")))
    assert found == list(map(bool, expected))


@pytest.mark.rule("hospital")
def test_hospitals_only_if_nothing_else_is_left():
    grid = queues(2, names=("A_HOSPITAL/SCORE", "B"))
    assert why(queues_=grid, seen=view(2)) == ["hospital", ""]
    assert why(queues_=grid, seen=view(2, n_pilot=[1, 0])) == ["", "pilots_missing"]


@pytest.mark.rule("preassigned_lost", "not_the_named_queue")
def test_the_queue_that_a_task_names():
    named = task(preassigned=(1,))
    assert why(named, seen=view(3)) == ["not_the_named_queue", "", "not_the_named_queue"]
    assert why(named, seen=view(3, n_pilot=[1, 0, 1])) == ["preassigned_lost", "pilots_missing", "preassigned_lost"]
    problematic = view(3, activated=[0, 200, 0], running=[10, 0, 10], running_all=10)
    assert why(named, seen=problematic)[1] == ""                      # no problem removes it


@pytest.mark.rule("gpu_without_platform")
@pytest.mark.parametrize(("fields", "expected"), [
    pytest.param(dict(architecture=PLATFORM), [True, False, False, True], id="CPU queues and published platforms"),
    pytest.param(dict(architecture=""), [True, False, True, True], id="no platform"),
    pytest.param(dict(architecture="", is_hpo=True), [False] * 4, id="optimisation of hyper-parameters"),
])
def test_gpu_queues(fields, expected):
    reserved = PublishedSoftware(architectures=(Hardware(type="gpu", vendor=("excl",)),))
    grid = queues(4, gpu=[True, False, True, True], software=(
        QueueSoftware(), QueueSoftware(), QueueSoftware(AUTO, CVMFS), QueueSoftware(AUTO, reserved)))
    assert refused(candidates.gpu_without_platform, task(**fields), grid) == expected


TAGGED = PublishedSoftware(cmtconfigs=(PLATFORM,), tags=({"cmtconfig": PLATFORM, "project": "AtlasOffline",
                                                          "release": "24.0.41"},),
                           architectures=(Hardware(type="cpu", arch=("x86_64",)),))
NIGHTLY = "AnalysisTransforms-main_2026-01-05T2101"


@pytest.mark.rule("release_missing", "platform_unresolved")
@pytest.mark.parametrize(("transhome", "transuses", "published", "expected"), [
    pytest.param("AnalysisTransforms-AthDerivation_21.2.2.0", None, CVMFS, "", id="a cache on CVMFS"),
    pytest.param("AnalysisTransforms-AthDerivation_21.2.2.0", None, TAGGED, "-cache", id="not the one installed"),
    pytest.param("AnalysisTransforms", "Atlas-24.0.41", TAGGED, "", id="the base release of transUses"),
    pytest.param("AnalysisTransforms", None, TAGGED, "-cache", id="nightlies need CVMFS"),
    pytest.param(NIGHTLY, None, CVMFS, "", id="a nightly on CVMFS"),
    pytest.param(NIGHTLY, "Atlas-24.0.41", TAGGED, "-cache", id="a nightly that is not"),
    pytest.param("", None, PublishedSoftware(architectures=CVMFS.architectures), "", id="standalone: the CPU suffices"),
    pytest.param("AnalysisTransforms-Athena_24.0.41", "Atlas-24.0.41", TAGGED, "", id="numbers of three parts"),
    pytest.param("AnalysisTransforms-Athena_24.0.41", "Atlas-24.0", TAGGED, "-cache", id="unless transUses has two"),
])
def test_releases(transhome, transuses, published, expected):
    asked = task(transhome=transhome, transuses=transuses, architecture=PLATFORM)
    grid = queues(1, software=(QueueSoftware(AUTO, published),))
    assert candidates.answer_of_analysis(case(asked, grid), grid.software[0]) == expected


@pytest.mark.rule("release_missing", "platform_unresolved")
def test_any_and_regular_expressions():
    def tag(asked, known):
        return candidates.answer_of_analysis(case(task(**asked), queues(1, software=(known,))), known)
    anything = QueueSoftware(("ANY",))
    assert tag(dict(transhome="AnalysisTransforms", architecture=""), anything) == ""
    assert tag(dict(transhome="AnalysisTransforms", architecture=PLATFORM), anything) == "-cache"    # asks for a CPU
    pattern = dict(transhome="AnalysisTransforms-Athena_24.0.41", transuses="Atlas-24.0.41",
                   architecture="(x86_64)-(el9|centos7)-gcc13-opt#x86_64")
    assert tag(pattern, QueueSoftware(AUTO, CVMFS)) == ""
    assert tag(pattern, QueueSoftware(AUTO, PublishedSoftware(
        cvmfs=("atlas",), containers=("any",), architectures=CVMFS.architectures))) == "-regexpcmtconfig"
    assert why(task(preassigned=(0,), architecture=PLATFORM), queues(1, software=(anything,))) == [""]


def test_best_ten_in_the_order_of_their_weights():
    seen = view(12, activated=np.arange(12))
    verdict, names = decide(seen=seen, edition="documented")
    assert verdict.order.tolist() == list(range(10)) and names[10:] == ["low_weight"] * 2
    everywhere = view(12, datasets=[dataset([DISK] * 12)])
    assert len(decide(seen=everywhere)[0].order) == 10

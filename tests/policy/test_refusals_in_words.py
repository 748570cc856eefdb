"""What a refusal says: every rule of both brokers, asked alone about one small picture in each edition that has it."""

from dataclasses import replace

import numpy as np
import pytest
from policy_builders import TB, cfg, locality, nuclei, queues, stats, task
from tables import check_each

from simgrid_broker.compiled import uncompiled
from simgrid_broker.names import EDITIONS, BareNucleus, FullChain, QueueStatus
from simgrid_broker.policy.brokerage.production.broker import run_brokerage as broker_jobs_by
from simgrid_broker.policy.brokerage.production.decide import RANKING
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION as JOBS
from simgrid_broker.policy.brokerage.task.broker import broker_task
from simgrid_broker.policy.brokerage.task.broker import run_brokerage as broker_task_by
from simgrid_broker.policy.brokerage.task.editions import PREASSIGNED
from simgrid_broker.policy.brokerage.task.editions import PRODUCTION as TASKS
from simgrid_broker.policy.brokerage.task.nuclei import cannot_run
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.units import GIB
from simgrid_broker.views import (
    KEPT,
    QUEUE,
    TEXTS,
    Hardware,
    InputDataset,
    Locality,
    PublishedSoftware,
    QueueSoftware,
    Source,
)
from simgrid_broker.wording import worded

DAY = 86400.0
HALF = locality(1e12, 200, [0.5e12], [100])
NOTHING = np.zeros(1)
SCATTERED = Locality(100.0, 10, NOTHING, NOTHING, NOTHING, NOTHING, None, False, (InputDataset("in", (
    Source("DISK", 0.6, 40, True, True),)),))
DEAF = SCATTERED._replace(inputs=(InputDataset("in", (Source("DISK", 1.0, 0, True, False),)),))
MOVING = dict(jobbroker={"IO_INTENSITY_CUTOFF": 200, "SIZE_CUTOFF_TO_MOVE_INPUT": 10, "NUM_CUTOFF_TO_MOVE_INPUT": 100})
CHAIN = dict(nucleus=0, fullchain=1, nucleus_bare=2)
SHORT = dict(core={"WORK_SHORTAGE": True})
EXPRESS = dict(jobbroker={"NW_THRESHOLD": 1.7, "NW_WEIGHT_MULTIPLIER": 1, "NW_ACTIVE": True})
BOTH, DOCUMENTED, DEPLOYED = EDITIONS, EDITIONS[:1], EDITIONS[1:]


def case(rule, editions, sentence, of_task=None, config=None, data=None, **columns):
    """A refusal of the only queue by a rule: what task and queue have beside the plain picture, and the sentence."""
    return [pytest.param(rule, edition, of_task or {}, columns, config or {}, data, sentence, id=f"{rule}, {edition}")
            for edition in editions]


OF_QUEUES = [
    *case("not_preassigned", BOTH, "the task names other queues", dict(preassigned=(7,))),
    *case("of_the_other_kind", BOTH, "not for production", production=False, analysis=True),
    *case("named_test", DOCUMENTED, "named a test queue", names=("A_TEST",)),
    *case("not_open", BOTH, "brokeroff", status=QueueStatus.BROKEROFF),
    *case("zero_share", BOTH, 'sub-policy "type=simul:0%"', fairsharepolicy="type=evgen:1,type=simul:0%,type=any:100"),
    *case("link_blocked", DOCUMENTED, "link to the nucleus blocked, closeness -1", dict(nucleus=0), closeness=-1),
    *case("link_blocked_deployed", DEPLOYED, "link to the nucleus blocked, closeness -1", dict(nucleus=0), known=True,
          closeness=-1),
    *case("link_full", DOCUMENTED, "701 files wait on the link to the nucleus, at most 700", dict(nucleus=0),
          dict(jobbroker={"NQUEUED_SAT_CAP": 700}), queued_files=701),
    *case("link_full_deployed", DEPLOYED, "700 files wait on the link to the nucleus, fewer than 700 allowed",
          dict(nucleus=0), dict(jobbroker={"NQUEUED_SAT_CAP": 700}), known=True, queued_files=700),
    *case("nucleus_full", DOCUMENTED, "2,001 files wait for the nucleus, at most 2,000", dict(nucleus=0),
          dict(jobbroker={"NQUEUED_NUC_CAP_FOR_JOBS": 2000}), files_to_nucleus=2001.0),
    *case("nucleus_full_deployed", DEPLOYED, "2,000 files wait for the nucleus, fewer than 2,000 allowed",
          dict(nucleus=0), dict(jobbroker={"NQUEUED_NUC_CAP_FOR_JOBS": 2000}), files_to_nucleus=2000.0),
    *case("nucleus_closed", DOCUMENTED, "the storage of the nucleus does not receive and send files over WAN",
          dict(nucleus=0), readable=False),
    *case("nucleus_closed_deployed", DEPLOYED, "the storage of the nucleus receives no files over WAN",
          dict(nucleus=0), writable=False),
    *case("inactive", DOCUMENTED, "5 activated jobs, none started for 2 h 40 min", dict(is_scout=True), activated_all=5,
          starting_all=3, idle_s=9600.0),
    *case("inactive", DEPLOYED, "8 activated or starting jobs, none started for 2 h 40 min", dict(is_scout=True),
          activated_all=5, starting_all=3, idle_s=9600.0),
    *case("opportunistic", BOTH, "pledgedcpu -1", dict(is_scout=True), pledgedcpu=-1.0),
    *case("too_much_to_move", DOCUMENTED, "500 GB of input to move, less than 10.0 GB allowed; 100 files, fewer than "
          "100 allowed", dict(iointensity=500), MOVING, HALF),
    *case("disk_io", BOTH, "running jobs move 800 kB/s per core, at most 600 kB/s per core", dict(diskio=700.0),
          diskio=800.0, maxdiskio=600.0),
    *case("core_count_mismatch", BOTH, "slots of 8 cores, jobs of 1 core", dict(corecount=1), corecount=8),
    *case("too_many_cores", BOTH, "slots of 16 cores, at most 8", dict(corecount=0, maxcorecount=8.0), corecount=16),
    *case("software_missing", BOTH, "it does not have Athena-24.0.5 and x86_64-el9-gcc13-opt",
          dict(transhome="Athena-24.0.5", architecture="x86_64-el9-gcc13-opt"), software=(QueueSoftware(("AUTO",)),)),
    *case("too_little_memory", BOTH, "23.3 GB needed, maxrss 16.0 GB", dict(ramcount=25872.0), maxrss_mb=16000.0),
    *case("too_much_memory", BOTH, "3.6 GB needed, minrss 16.0 GB", dict(ramcount=4000.0), minrss_mb=16001.0),
    *case("only_copies", BOTH, "input cannot be read directly from its storage", dict(allowinputlan="only")),
    *case("too_little_scratch", DOCUMENTED, "1.8 GB free in scratch, 2.0 GB needed", dict(output_bytes_per_job=1.7e9),
          maxwdir_mb=1800.0),
    *case("too_little_scratch_deployed", DEPLOYED, "1.5 GiB free in scratch, 2.0 GiB needed",
          dict(output_bytes_per_job=2.0 * GIB), maxwdir_mb=1536.0),
    *case("too_little_space", DOCUMENTED, "200 GB free in its storage, more than 200 GB needed", free_bytes=200e9),
    *case("too_little_space_deployed", DEPLOYED,
          "-3.6 TiB usable in its storage, 200 GiB needed (STORAGE_MIN_FREE_SIZE)", usable_bytes=-4e12),
    *case("not_readable", BOTH, "jobs cannot read from its storage", read_lan=False),
    *case("not_writable", BOTH, "jobs cannot write to its storage", write_lan=False),
    *case("receives_nothing", BOTH, "its storage receives no files over WAN", write_wan=False),
    *case("sends_nothing", BOTH, "its storage sends no files over WAN", read_wan=False),
    *case("input_cannot_be_sent", DEPLOYED, "no storage with all of the input sends files over WAN", data=DEAF),
    *case("input_incomplete", DEPLOYED, "at most 60 % of an input dataset at one storage, 90 % needed where it can be "
          "read", data=SCATTERED),
    *case("too_short_for_scouts", DOCUMENTED, "maxtime 12 h, 1 d needed", dict(is_scout=True), maxtime_s=DAY / 2),
    *case("too_short_for_scouts", DEPLOYED, "432,000 HS06 s of work fit into maxtime, 864,000 HS06 s needed",
          dict(is_scout=True), maxtime_s=DAY / 2),
    *case("too_short_for_unknown", DOCUMENTED, "maxtime 12 h, 1 d needed", dict(cputime=np.nan), maxtime_s=DAY / 2),
    *case("too_short_for_unknown", DEPLOYED, "432,000 HS06 s of work fit into maxtime, 864,000 HS06 s needed",
          dict(cputime=np.nan), maxtime_s=DAY / 2),
    *case("too_little_walltime", DOCUMENTED, "1 d 20 h needed, maxtime 1 d", dict(cputime=15840.0), maxtime_s=DAY),
    *case("too_little_walltime_deployed", DEPLOYED, "1,584,000 HS06 s of work needed, 864,000 HS06 s fit into maxtime",
          dict(cputime=15840.0), maxtime_s=DAY),
    *case("too_much_walltime", DOCUMENTED, "16 min 40 s needed, mintime 1 h", dict(cputime=100.0), mintime_s=3600.0),
    *case("too_much_walltime_deployed", DEPLOYED, "10,000 HS06 s of work needed, mintime asks for 36,000 HS06 s",
          dict(cputime=100.0), mintime_s=3600.0),
    *case("network_mismatch", BOTH, 'wnconnectivity "none", the task asks for "full"', dict(ipconnectivity="full"),
          wnconnectivity="none"),
    *case("without_event_service", BOTH, "jobseed std: no event service", dict(event_service=True)),
    *case("kept_for_high_event_service", BOTH, "jobseed eshigh: for scouts and high priorities only",
          dict(event_service=True), jobseed="eshigh"),
    *case("single_core_of_unified", BOTH, "one core of a unified queue", dict(event_service=True), resource_type=0),
    *case("only_event_service", BOTH, "jobseed es: event service only", jobseed="es"),
    *case("kept_for_jumbo", DEPLOYED, "for jumbo jobs only (useJumboJobs)", use_jumbo_jobs=True),
    *case("too_few_events", DEPLOYED, "99 events ready, jumbo jobs need 100", dict(jumbo_events=99),
          use_jumbo_jobs=True, min_events_for_jumbo=100.0),
    *case("output_backlog", BOTH, "2,001 jobs transferring, at most 2,000", transferring=2001),
    *case("off_nucleus", BOTH, "not at the nucleus, where t1Weight keeps the task", dict(nucleus=0, t1weight=-1)),
    *case("off_the_chain", BOTH, "not at the bare nucleus of the full chain", CHAIN),
    *case("for_full_chains_only", BOTH, "bareNucleus only: its nucleus is for full chains", dict(nucleus=0),
          bare_nucleus=2),
    *case("no_pilots", BOTH, "no pilot called for 3 h", n_pilot=0),
    *case("low_network_weight", DOCUMENTED, "network weight 1.682, express tasks need 1.7",
          dict(nucleus=0, currentpriority=1000), EXPRESS, closeness=7, known=True),
    *case("low_network_weight_deployed", DEPLOYED, "network weight 1.682, express tasks need 1.7",
          dict(nucleus=0, currentpriority=1001), EXPRESS, closeness=7, known=True),
    *case("non_pledged", BOTH, "pledgedcpu -1, while work is short", {}, SHORT, pledgedcpu=-1.0),
    *case("over_pledged", BOTH, "120 cores in use, pledge 100, while work is short", {}, SHORT, pledgedcpu=100.0,
          cores_running=120),
    *case("too_many_ready", DOCUMENTED, "21 jobs activated and starting, at most 20", activated=15, starting=6),
    *case("too_many_queued", DOCUMENTED, "21 jobs queued, at most 20", activated=15, defined=6),
    *case("over_cap", DEPLOYED, "61 jobs activated, starting and assigned, at most 60", running=30, activated=61),
    *case("over_cap_of_type", DEPLOYED, "61 jobs of the resource type queued, at most 60", running_of_type=30,
          queued_of_type=61, resource_type=0),
    *case("locked", DEPLOYED, "another broker has locked it", locked=True),
    *case("set_apart", DEPLOYED, "set apart for the jumbo jobs of the task", dict(jumbo_events=9), use_jumbo_jobs=True),
    *case("below_min_weight", DEPLOYED, "weight 1.1, at least 2 needed", {}, dict(jobbroker={"MIN_WEIGHT_managed": 2})),
    *case("too_intense", DEPLOYED, "ioIntensity 500 kB/s, max_io_intensity 200 kB/s", dict(iointensity=500),
          max_io_intensity=200.0),
    *case("not_local", DEPLOYED, "50 % of the input on its disk, 100 % needed (use_only_local_data)", data=HALF,
          use_only_local_data=True),
]
NOT_ALONE = {"platform_missing", "io_class", *(rule.name for rule in RANKING)}
"""Rules that need more than one queue, or software; tested below."""


FIGURE_NOT_NAMED = {"no_pilots": "its figure is always 0 pilots", "io_class": "the class is said in bytes and files"}
"""Rules with a figure that their sentence does not name, and why."""


def sentences(rules, edition, verdict):
    """What the rules of a verdict say about each candidate, "" of those that are kept."""
    figures = verdict.figures()
    return ["" if place == KEPT else worded(
        rules[place].says_in(edition), rules[place].unit_in(edition), figures.value[k], figures.limit[k],
        figures.texts.get(k, "")) for k, place in enumerate(verdict.refused_by.tolist())]


def alone(name, brokerage):
    """A brokerage without any other criterion, in plain Python: compiling each of them takes longer than all tests."""
    rule, = (rule for rule in brokerage.funnel.criteria if rule.__name__ == name)
    plain = rule if rule is cannot_run else uncompiled(rule)       # a turn asks for this one by itself
    plain.rule = rule.rule
    return replace(brokerage, funnel=Funnel((plain,)))


def said(brokerage, view, numbers, of_task=None, config=None, data=None):
    """The sentences of a decision of job brokerage."""
    verdict = broker_jobs_by(brokerage, task(**of_task or {}), view, numbers, data,
                             cfg(brokerage.edition, **config or {}))
    return sentences(brokerage.rules, brokerage.edition, verdict)


@pytest.mark.parametrize(("name", "edition", "of_task", "columns", "config", "data", "sentence"), OF_QUEUES)
def test_what_a_rule_says_of_a_queue(name, edition, of_task, columns, config, data, sentence):
    of_queue = columns.keys() & {*QUEUE.names, *TEXTS, "names", "software"}
    view = queues(1, **{key: columns[key] if isinstance(columns[key], tuple) else (columns[key],) for key in of_queue})
    numbers = stats(1, **{key: columns[key] for key in columns.keys() - of_queue})
    assert said(alone(name, JOBS[edition]), view, numbers, of_task, config, data) == [sentence]


def test_every_rule_of_job_brokerage_has_such_a_picture_in_each_edition_that_has_it():
    shown = {(case.values[0], case.values[1]) for case in OF_QUEUES}
    rules = {(rule.name, edition) for edition in EDITIONS for rule in JOBS[edition].rules if rule.name not in NOT_ALONE}
    assert shown == rules


def of_rules():
    """(broker, edition, rule) of everything that refuses candidates."""
    for edition in EDITIONS:
        yield from (("job brokerage", edition, rule) for rule in JOBS[edition].rules)
        yield from (("task brokerage", edition, rule) for rule in TASKS[edition].rules)


def test_every_rule_has_words_and_the_unit_of_the_figures_that_it_names():
    def check(edition, rule):
        says, unit = rule.says_in(edition), rule.unit_in(edition)
        assert says and says[-1] not in ".,;" and ("{text}" in says) == (rule.text is not None)
        assert bool(unit) == ("{value" in says or rule.name in FIGURE_NOT_NAMED)
    check_each({f"{rule.name}, {broker}, {edition}": (edition, rule) for broker, edition, rule in of_rules()}, check)


def test_every_rule_says_in_one_sentence_what_it_refuses():
    rules = dict.fromkeys((*RANKING, *PREASSIGNED.funnel.rules, *(rule for _, _, rule in of_rules())))
    assert [rule.name for rule in rules if not rule.meaning.startswith("Refuse ") or not rule.meaning.endswith(".")
            or "\n" in rule.meaning] == []


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_platform_that_a_queue_does_not_have_is_named(edition):
    published = PublishedSoftware(cmtconfigs=("x86_64-el9-gcc13-opt",), containers=("any",), cvmfs=("atlas",),
                                  architectures=(Hardware(type="cpu", arch=("x86_64",)),))
    software = QueueSoftware(("AUTO",), published)
    asked = dict(transhome="Athena-24.0.5", architecture="x86_64-(slc6|centos7)-.*-opt")
    assert said(alone("platform_missing", JOBS[edition]), queues(1, software=(software,)), stats(1), asked) == [
        "it has no platform for x86_64-(slc6|centos7)-.*-opt"]


def test_a_queue_of_a_worse_class_says_what_it_misses():
    data = locality(1024.0 ** 4, 50, [1024.0 ** 4, 0.0], [0, 50])
    assert said(alone("io_class", JOBS["deployed"]), queues(2), stats(2), dict(iointensity=500), MOVING, data) == [
        "", "1.0 TiB and 50 files not on disk, 1.0 TiB and 50 files not on disk or tape, at most 10.0 GiB and 100 may "
        "be moved; other queues miss less"]


@pytest.mark.parametrize(("running", "behind"), [
    pytest.param(range(10, 22), ["weight 1.1, the last queue used has 1.3", "weight 1.2, the last queue used has 1.3"],
                 id="behind ten better ones"),
    pytest.param([0] * 10 + [5], ["weight 0.6"], id="behind queues without a job, whose weight is no limit"),
    pytest.param([0] * 11, ["queues without any job are used first"], id="without a job, as ten others"),
])
def test_a_queue_behind_the_best_says_its_weight(running, behind):
    n = len(running)
    brokerage = JOBS["deployed"]
    found = said(brokerage, queues(n), stats(n, running=list(running)))
    assert [sentence for sentence in found if sentence] == behind


def test_a_queue_that_is_not_the_busiest_says_its_jobs():
    assert said(JOBS["deployed"], queues(2), stats(2, running_all=[5, 50]), dict(t1weight=-1)) == [
        "5 jobs running, 50 at the queue that is used", ""]


def of_nucleus(rule, editions, sentence, of_task=None, **columns):
    """A refusal of the only nucleus by a rule of task brokerage; as `case`."""
    return [pytest.param(rule, edition, of_task or {}, columns, sentence, id=f"{rule}, {edition}")
            for edition in editions]


LARGE = dict(total_input_bytes=4e12, total_input_files=200, iointensity=500)
OF_NUCLEI = [
    *of_nucleus("not_active", DOCUMENTED, "not ACTIVE", active=False),
    *of_nucleus("transfer_backlog", DOCUMENTED, "2,000 files of output on their way, fewer than 2,000 allowed",
                queued_output_files=2000),
    *of_nucleus("transfer_backlog", DEPLOYED, "2,001 files of output on their way, at most 2,000",
                queued_output_files=2001),
    *of_nucleus("no_storage", DOCUMENTED, "no storage for output", has_storage=False),
    *of_nucleus("output_unmatched", DEPLOYED, "one of the nuclei left has no storage for the output",
                has_storage=False),
    *of_nucleus("unreadable", BOTH, "its storage sends no files over WAN", read_wan=False),
    *of_nucleus("unwritable", BOTH, "its storage receives no files over WAN", write_wan=False),
    *of_nucleus("too_little_space", DOCUMENTED, "90.0 TB left for output, more than 100 TB needed (DISK_THRESHOLD)",
                free_bytes=90 * TB),
    *of_nucleus("too_little_space", DEPLOYED, "100 GiB left for output, 100 TiB needed (DISK_THRESHOLD)",
                free_bytes=100.0 * GIB),
    *of_nucleus("no_complete_replica", DEPLOYED, "no complete replica of the input can be read over WAN",
                dict(total_input_bytes=1.0), complete_replica=False),
    *of_nucleus("too_little_input", DOCUMENTED, "400 GB of the input there, more than 400 GB needed", LARGE,
                local_input_bytes=0.4e12),
    *of_nucleus("too_little_input", DEPLOYED, "399 GB of the input there, 400 GB needed", LARGE,
                local_input_bytes=0.399e12),
    *of_nucleus("too_few_files", DOCUMENTED, "20 files of the input there, more than 20 files needed", LARGE,
                local_input_files=20),
    *of_nucleus("too_few_files", DEPLOYED, "19 files of the input there, 20 files needed", LARGE, local_input_files=19),
    *of_nucleus("cannot_run", BOTH, "none of its 2 pseudo-queues can run the jobs: 2 -status",
                can_run=lambda asked: ~asked, why_not=lambda site: "none of its 2 pseudo-queues can run the jobs: "
                "2 -status"),
    *of_nucleus("off_the_chain", DOCUMENTED, "bareNucleus allow, fullChain only", dict(fullchain=FullChain.ONLY),
                bare=BareNucleus.ALLOW),
    *of_nucleus("off_the_chain_deployed", DEPLOYED, "bareNucleus no, fullChain require",
                dict(fullchain=FullChain.REQUIRE), bare=BareNucleus.NO),
]


@pytest.mark.parametrize(("name", "edition", "of_task", "columns", "sentence"), OF_NUCLEI)
def test_what_a_rule_says_of_a_nucleus(name, edition, of_task, columns, sentence):
    scalars = {key: value for key, value in columns.items() if key in ("complete_replica", "can_run", "why_not")}
    view = replace(nuclei(1, **{key: [value] for key, value in columns.items() if key not in scalars}), **scalars)
    brokerage = alone(name, TASKS[edition])
    config = cfg(edition, taskbrokerage={"INPUT_SIZE_THRESHOLD": 1, "INPUT_NUM_THRESHOLD": 100})
    verdict = broker_task_by(brokerage, task(**of_task), view, config, 0.5)
    assert sentences(brokerage.funnel.rules, edition, verdict) == [sentence]


def test_every_rule_of_task_brokerage_has_such_a_picture_in_each_edition_that_can_refuse_for_it():
    shown = {(case.values[0], case.values[1]) for case in OF_NUCLEI}
    rules = {(rule.name, edition) for edition in EDITIONS for rule in TASKS[edition].funnel.rules}
    assert shown == rules - {("not_active", "deployed")}


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_nucleus_that_the_task_does_not_name_says_so_and_no_other_rule_is_asked(edition):
    verdict = broker_task(task(nucleus=1), nuclei(2), cfg(edition), edition, 0.5)
    assert sentences(TASKS[edition].rules, edition, verdict) == ["the task names another nucleus", ""]
    others = {place for place, rule in enumerate(TASKS[edition].rules) if rule not in PREASSIGNED.funnel.rules}
    assert verdict.figures().unasked == others


@pytest.mark.parametrize(("edition", "of_task", "config", "unasked"), [
    pytest.param("documented", {}, {}, {
        "not_preassigned", "link_blocked", "link_full", "nucleus_full", "nucleus_closed", "inactive", "opportunistic",
        "too_much_to_move", "disk_io", "too_many_cores", "software_missing", "platform_missing", "too_little_memory",
        "too_much_memory", "only_copies", "too_short_for_scouts", "too_short_for_unknown", "network_mismatch",
        "without_event_service", "kept_for_high_event_service", "single_core_of_unified", "off_nucleus",
        "off_the_chain", "for_full_chains_only", "low_network_weight", "non_pledged", "over_pledged"},
        id="a plain task"),
    pytest.param("documented", dict(
        nucleus=0, currentpriority=1000, is_scout=True, iointensity=500.0, total_input_bytes=1e12, diskio=5.0,
        maxcorecount=8.0, transhome="Athena-24.0.5", ramcount=2000.0, allowinputlan="only", ipconnectivity="full",
        event_service=True, t1weight=-1, fullchain=1, nucleus_bare=2), SHORT | MOVING, {
        "not_preassigned", "too_short_for_unknown", "for_full_chains_only"}, id="a task that asks for everything"),
    pytest.param("documented", dict(preassigned=(0,), nucleus=0, cputime=np.nan), {}, {
        "named_test", "not_open", "opportunistic", "inactive", "too_little_walltime", "too_much_walltime"},
        id="a task that names its queue"),
])
def test_rules_that_do_not_concern_a_task_are_told(edition, of_task, config, unasked):
    data = HALF if of_task.get("total_input_bytes") else None
    verdict = broker_jobs_by(JOBS[edition], task(**of_task), queues(1), stats(1), data, cfg(edition, **config))
    found = {JOBS[edition].rules[place].name for place in verdict.figures().unasked}
    assert found >= unasked if "preassigned" in of_task else found == unasked


def test_rules_of_task_brokerage_that_were_lifted_or_came_too_late_are_told():
    def unasked(of_task, **columns):
        verdict = broker_task(task(**of_task), nuclei(1, **columns), cfg(), "documented", 0.5)
        return {TASKS["documented"].rules[place].name for place in verdict.figures().unasked}
    plain = {"too_little_input", "too_few_files", "not_preassigned"}
    assert unasked({}) == plain
    assert unasked(dict(total_input_bytes=4e12, total_input_files=200)) == plain - {"too_little_input", "too_few_files"}
    lifted = dict(total_input_bytes=4e12, total_input_files=200, currentpriority=900)
    assert unasked(lifted, local_input_bytes=[0.0], local_input_files=[0]) == plain
    assert unasked({}, has_storage=[False]) >= {"too_little_space", "unreadable", "unwritable", "off_the_chain"}

"""What goes on at a queue: boundaries of the criteria about starts, pilots, pledges, disks and transfers."""

from math import nan

import pytest
from builders import broker_hint
from policy_builders import candidate, cfg, queues, stats, task

from simgrid_broker.policy.brokerage.production import activity
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.views import Premerge

EDITIONS = ("documented", "deployed")


def refused(rule, fields=(), queue=(), load=(), config=(), link=()):
    """Whether a rule refuses one queue in each edition: (documented, deployed)."""
    view = queues(1, **{name: [value] for name, value in dict(queue).items()})
    numbers = stats(1, **{name: [value] for name, value in (dict(load) | dict(link)).items()})
    return tuple(bool(rule(*candidate(task(**dict(fields)), view, numbers, None, cfg(**dict(config)), edition))[0])
                 for edition in EDITIONS)


AT_HOME = Premerge(queue=0, input_idle_s=0.0, stuck_s=0.0)
BOTH, NONE, CODE = (True, True), (False, False), (True, False)
"""Refused in both editions, in none, and spared in the code alone."""


@pytest.mark.rule("opportunistic")
@pytest.mark.parametrize(("fields", "pledgedcpu", "expected"), [
    pytest.param(dict(currentpriority=799), -1, NONE, id="below priority 800 anything goes"),
    pytest.param(dict(currentpriority=800), -1, BOTH, id="from 800 on not opportunistic ones"),
    pytest.param(dict(is_scout=True), -1, BOTH, id="nor do scouts"),
    pytest.param(dict(is_scout=True), 0, NONE, id="no pledge is not opportunistic"),
    pytest.param(dict(is_scout=True, preassigned=(0,)), -1, CODE, id="unless, in the code, the task names the queue"),
    pytest.param(dict(is_scout=True, premerge=AT_HOME), -1, CODE, id="or a list of queues"),
])
def test_opportunistic(fields, pledgedcpu, expected):
    assert refused(activity.opportunistic, fields, dict(pledgedcpu=pledgedcpu)) == expected


TWO_HOURS = 7200.0
ASLEEP = dict(idle_s=TWO_HOURS + 1, activated_all=1)


@pytest.mark.rule("inactive")
@pytest.mark.parametrize(("fields", "load", "expected"), [
    pytest.param(dict(currentpriority=799), ASLEEP, NONE, id="below priority 800 anything goes"),
    pytest.param(dict(currentpriority=800), ASLEEP, BOTH, id="from 800 on not inactive ones"),
    pytest.param(dict(is_scout=True), ASLEEP, BOTH, id="scouts"),
    pytest.param(dict(is_merging=True), ASLEEP, BOTH, id="merging"),
    pytest.param(dict(merge_output=True), ASLEEP, BOTH, id="output to be merged"),
    pytest.param(dict(is_scout=True), dict(idle_s=TWO_HOURS + 1), NONE, id="nothing waits, so nothing could start"),
    pytest.param(dict(is_scout=True), dict(activated_all=5), NONE, id="jobs have started"),
    pytest.param(dict(is_scout=True), dict(idle_s=TWO_HOURS, activated_all=1), NONE, id="the last two hours ago"),
    pytest.param(dict(is_scout=True), dict(idle_s=TWO_HOURS + 1, starting_all=1), (False, True),
                 id="D20 starting jobs count in the code"),
    pytest.param(dict(is_scout=True, preassigned=(0,)), ASLEEP, CODE, id="the code spares a queue that the task names"),
])
def test_inactive(fields, load, expected):
    assert refused(activity.inactive, fields, load=load) == expected


@pytest.mark.rule("disk_io")
@pytest.mark.parametrize(("fields", "queue", "measured", "expected"), [
    pytest.param(dict(diskio=600), dict(maxdiskio=500.0), 501, BOTH, id="both are above the limit"),
    pytest.param(dict(diskio=600), dict(maxdiskio=500.0), 500, NONE, id="the queue is at the limit"),
    pytest.param(dict(diskio=500), dict(maxdiskio=500.0), 501, NONE, id="the task is at the limit"),
    pytest.param(dict(diskio=nan), dict(maxdiskio=500.0), 501, NONE, id="nothing is known of the task"),
    pytest.param(dict(diskio=600), dict(maxdiskio=500.0), nan, NONE, id="nothing is known of the queue"),
    pytest.param(dict(diskio=600), dict(), 501, BOTH, id="gdpconfig's limit, where the queue has none"),
    pytest.param(dict(diskio=400), dict(), 501, NONE, id="and the task below it"),
    pytest.param(dict(diskio=4007, corecount=8), dict(maxdiskio=500.0, corecount=8), 501, NONE,
                 id="whole kB/s per core of a multi-core task: 500"),
    pytest.param(dict(diskio=4008, corecount=8), dict(maxdiskio=500.0, corecount=8), 501, BOTH, id="501 per core"),
    pytest.param(dict(diskio=600, corecount=0), dict(maxdiskio=500.0, corecount=8), 501, BOTH,
                 id="of a task of any core count it is not divided"),
    pytest.param(dict(diskio=600, corecount=1), dict(maxdiskio=500.0, corecount=8), 501, BOTH,
                 id="nor that of a single-core task"),
    pytest.param(dict(diskio=1001, corecount=2), dict(maxdiskio=500.0, corecount=2), 501, NONE,
                 id="two cores are a multi-core task"),
    pytest.param(dict(diskio=500.5, corecount=2), dict(maxdiskio=500.0, corecount=1), 501, NONE,
                 id="divided by one core it is still a whole number"),
    pytest.param(dict(diskio=600, corecount=8), dict(maxdiskio=500.0, corecount=0), 501, BOTH,
                 id="nor at a queue that names no cores"),
])
def test_disk_io(fields, queue, measured, expected):
    config = dict(jobbroker={"MAX_DISKIO_DEFAULT": 500})
    assert refused(activity.disk_io, fields, queue, dict(diskio=measured), config) == expected


@pytest.mark.rule("disk_io")
def test_disk_io_has_no_limit_by_default_nor_with_0():
    huge = dict(diskio=1e9)
    for config in (dict(), dict(jobbroker={"MAX_DISKIO_DEFAULT": 0})):
        assert refused(activity.disk_io, huge, load=huge, config=config) == NONE


@pytest.mark.rule("output_backlog")
@pytest.mark.parametrize(("load", "expected"), [
    pytest.param(dict(transferring=2000, running_all=10), NONE, id="at transferringlimit"),
    pytest.param(dict(transferring=2001, running_all=10), BOTH, id="above it"),
    pytest.param(dict(transferring=4000, running_all=2000), NONE, id="at twice the running"),
    pytest.param(dict(transferring=4001, running_all=2000), BOTH, id="above twice the running"),
    pytest.param(dict(transferring=2001, running_all=10, transferring_unwritable=1), (True, False),
                 id="jobs of a nucleus that receives nothing do not count in the code"),
    pytest.param(dict(transferring=2001, in_nucleus=True), (True, False), id="the code spares the nucleus"),
    pytest.param(dict(transferring=2001, sharing=True), (True, False), id="and who shares its storage"),
])
def test_output_backlog(load, expected):
    assert refused(activity.output_backlog, load=load) == expected


SHORTAGE = dict(core={"WORK_SHORTAGE": True})


@pytest.mark.rule("non_pledged")
@pytest.mark.parametrize(("pledgedcpu", "config", "fields", "expected"), [
    pytest.param(-1, SHORTAGE, {}, BOTH, id="opportunistic"),
    pytest.param(0, SHORTAGE, {}, NONE, id="no pledge is known"),
    pytest.param(100, SHORTAGE, {}, NONE, id="pledged"),
    pytest.param(-1, {}, {}, NONE, id="work is not short"),
    pytest.param(-1, SHORTAGE, dict(preassigned=(0,)), CODE, id="the code spares a queue that the task names"),
    pytest.param(-1, SHORTAGE, dict(premerge=AT_HOME), BOTH, id="a list of queues does not help"),
])
def test_non_pledged(pledgedcpu, config, fields, expected):
    assert refused(activity.non_pledged, fields, dict(pledgedcpu=pledgedcpu), config=config) == expected


@pytest.mark.rule("over_pledged")
@pytest.mark.parametrize(("pledgedcpu", "load", "config", "expected"), [
    pytest.param(100, dict(cores_running=100), SHORTAGE, NONE, id="as many cores as pledged"),
    pytest.param(100, dict(cores_running=101), SHORTAGE, BOTH, id="more"),
    pytest.param(100, dict(cores_running=100, cores_starting=1), SHORTAGE, (False, True),
                 id="D55 cores of starting jobs count in the code"),
    pytest.param(1, dict(cores_running=2), SHORTAGE, BOTH, id="a pledge of one core"),
    pytest.param(0, dict(cores_running=101), SHORTAGE, NONE, id="no pledge is known"),
    pytest.param(-1, dict(cores_running=101), SHORTAGE, NONE, id="opportunistic ones have their own tag"),
    pytest.param(100, dict(cores_running=101), {}, NONE, id="work is not short"),
])
def test_over_pledged(pledgedcpu, load, config, expected):
    assert refused(activity.over_pledged, {}, dict(pledgedcpu=pledgedcpu), load, config) == expected


@pytest.mark.rule("no_pilots")
@pytest.mark.parametrize(("fields", "load", "expected"), [
    pytest.param({}, dict(n_pilot=0), BOTH, id="no pilot"),
    pytest.param({}, dict(n_pilot=1), NONE, id="one is enough"),
    pytest.param({}, dict(n_pilot=-1), NONE, id="not known"),
    pytest.param({}, dict(n_pilot=0, num_slots=0), (True, False), id="numSlots are set"),
    pytest.param(dict(prodsourcelabel="prod_test"), dict(n_pilot=0), (True, False), id="test work"),
    pytest.param(dict(prodsourcelabel="prod_test", processingtype="urgent"), dict(n_pilot=0), BOTH,
                 id="test work that is express"),
    pytest.param(dict(premerge=AT_HOME), dict(n_pilot=0), (True, False), id="the task names the queue"),
])
def test_no_pilots(fields, load, expected):
    assert refused(activity.no_pilots, fields, load=load) == expected


@pytest.mark.parametrize(("rule", "fields", "columns", "config", "value", "limit"), [
    pytest.param("opportunistic", dict(is_scout=True), dict(pledgedcpu=-1), {}, -1, 0, id="pledge of -1, 0 is needed"),
    pytest.param("non_pledged", {}, dict(pledgedcpu=-1), SHORTAGE, -1, 0, id="also while work is short"),
    pytest.param("inactive", dict(is_scout=True), dict(idle_s=9600.0, activated_all=5), {}, 9600, 7200,
                 id="none started for longer than two hours"),
    pytest.param("no_pilots", {}, dict(n_pilot=0), {}, 0, 1, id="no pilot, one is needed"),
])
@pytest.mark.rule("opportunistic", "non_pledged", "activity.inactive", "no_pilots")
def test_figures_of_a_refusal(rule, fields, columns, config, value, limit):
    told = {name: [number] for name, number in columns.items()}
    queue = {"pledgedcpu": told.pop("pledgedcpu")} if "pledgedcpu" in told else {}
    at = candidate(task(**fields), queues(1, **queue), stats(1, **told), None, cfg(**config))
    assert getattr(activity, rule)(*at) == (True, value, limit)


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_queue_that_is_bad_for_a_while_is_removed_last(edition):
    """A queue without pilots is refused for its pledge first, for its cap as documented only: PanDA's come last."""
    view = queues(1, pledgedcpu=[10.0])
    verdict = broker_jobs(task(), view, stats(1, n_pilot=[0], cores_running=[11]), None, cfg(**SHORTAGE), edition)
    assert verdict.tags[verdict.refused_by[0]] == "-over_pledged"
    verdict = broker_jobs(task(), view, stats(1, n_pilot=[0], running=[0], activated=[99]), None, cfg(), edition)
    assert verdict.tags[verdict.refused_by[0]] == ("-cap" if edition == "documented" else "-nopilot")


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_hint_knows_bad_queues_but_not_their_backlogs(edition):
    numbers = stats(3, n_pilot=[0, 1, 1], activated=[0, 999, 0])
    assert broker_hint(PRODUCTION[edition], task(), queues(3), numbers, cfg()).tolist() == [False, True, True]

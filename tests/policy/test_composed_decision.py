"""A decision is made of the tuples of a brokerage: a rule that is put in anywhere changes no other rule's refusals."""

import os
import subprocess
import sys
from dataclasses import replace

import numba
import numpy as np
import pytest
from policy_builders import cfg, locality, queues, stats, task

from simgrid_broker.compiled import uncompiled
from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.production.broker import run_brokerage
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.policy.brokerage.production.question import NUMBERS, TASK
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import candidate_criterion, candidate_factor, criterion
from simgrid_broker.views import LINK, LOAD, QUEUE, STORE

LOWEST_POWER = 5.0
MINE = {"panda": "selection for core power", "source": "a test"}


@candidate_criterion("-lowpower", **MINE)
def too_weak(task, queue, load, link, store, numbers):
    """Refuse queues of low core power."""
    return queue["corepower"] < LOWEST_POWER, queue["corepower"], LOWEST_POWER


@candidate_criterion("-lowpower", plain=True, **MINE)
def too_weak_in_python(task, queue, load, link, store, numbers):
    """Refuse queues of low core power."""
    return queue["corepower"] < LOWEST_POWER, queue["corepower"], LOWEST_POWER


@candidate_criterion("-lowpower", temporary=True, **MINE)
def too_weak_for_now(task, queue, load, link, store, numbers):
    """Refuse queues of low core power, after all other criteria."""
    return queue["corepower"] < LOWEST_POWER, queue["corepower"], LOWEST_POWER


@candidate_criterion("-light", needs_numbers=True, **MINE)
def too_light(task, queue, load, link, store, numbers):
    """Refuse queues whose weight is below 1."""
    return numbers["weight"] < 1, numbers["weight"], 1.0


@candidate_factor("power", **MINE)
def power(task, queue, load, link, store, numbers):
    """Core power."""
    return queue["corepower"]


@candidate_factor("power", plain=True, **MINE)
def power_in_python(task, queue, load, link, store, numbers):
    """Core power."""
    return queue["corepower"]


def with_rule(edition, rule, place):
    """The brokerage of an edition with one more criterion in its tuple."""
    rules = PRODUCTION[edition].funnel.criteria
    return replace(PRODUCTION[edition], funnel=Funnel((*rules[:place], rule, *rules[place:])))


def asked_of(brokerage, seed=1, n=300, **fields):
    """Verdict of a brokerage on a random grid in which each of many rules refuses some queues."""
    rng = np.random.default_rng(seed)

    def mostly(good, bad):
        return np.where(rng.random(n) < 0.1, bad, good)
    view = queues(
        n, corecount=mostly(1, 8), corepower=mostly(10.0, 4.0), status=mostly(0, 3), maxrss_mb=mostly(1e5, 1e3),
        minrss_mb=mostly(0.0, 1e5), maxwdir_mb=mostly(1e6, 1e3), maxtime_s=mostly(1e6, 3600.0),
        mintime_s=mostly(0.0, 9e5), pledgedcpu=mostly(100.0, -1.0), max_io_intensity=mostly(np.inf, 1.0),
        bare_nucleus=mostly(0, 2), use_only_local_data=mostly(False, True), resource_type=mostly(0, -1))
    numbers = stats(
        n, running=mostly(50, 0), activated=mostly(5, 200), n_pilot=mostly(1, 0), assigned=mostly(0, 9),
        cores_running=mostly(0, 200), transferring=mostly(0, 9999), idle_s=mostly(0.0, 7201.0), activated_all=5,
        closeness=mostly(3, -1), known=True, queued_files=mostly(0, 200), read_lan=mostly(True, False),
        write_wan=mostly(True, False), free_bytes=mostly(1e15, 1e9), usable_bytes=mostly(1e15, 1e9))
    data = locality(1e11, 10, mostly(1e11, 0), mostly(0, 10))
    asked = dict(ramcount=2000, nucleus=0, currentpriority=850, iointensity=500.0) | fields
    config = cfg(core={"WORK_SHORTAGE": True}, jobbroker={"SIZE_CUTOFF_TO_MOVE_INPUT": 80})
    return run_brokerage(brokerage, task(**asked), view, numbers, data, config), view


def reasons(verdict):
    """Tag, value and limit of each candidate's refusal, and its weight."""
    figures = verdict.figures()
    tags = [verdict.tags[rule] if rule >= 0 else None for rule in verdict.refused_by.tolist()]
    return list(zip(tags, map(str, figures.value), map(str, figures.limit), verdict.weight.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("edition", "part", "rule"), [
    pytest.param("documented", 0.5, too_weak, id="documented, in the middle"),
    pytest.param("deployed", 0.5, too_weak, id="deployed, in the middle"),
    pytest.param("documented", 0.0, too_weak_for_now, id="documented, a temporary one, first"),
    pytest.param("deployed", 1.0, too_weak, id="deployed, last"),
])
def test_a_rule_that_is_put_in_leaves_all_other_refusals_their_tags_and_figures(edition, part, rule):
    usual, place = PRODUCTION[edition], round(part * len(PRODUCTION[edition].funnel.criteria))
    mine = with_rule(edition, rule, place)
    for fields in ({}, {"is_scout": True}, {"processingtype": "urgent"}):
        before, view = asked_of(usual, **fields)
        was, now = reasons(before), reasons(asked_of(mine, **fields)[0])
        assert len({reason[0] for reason in was}) > 12
        for k, power_ in enumerate(view.corepower.tolist()):
            first = before.refused_by[k]
            ranked = first < 0 or first >= len(usual.funnel.criteria)
            if power_ < LOWEST_POWER and (ranked or mine.funnel.ranks[rule] < mine.funnel.ranks[
                    usual.funnel.criteria[first]]):
                assert now[k] == ("-lowpower", "4.0", "5.0", 0.0)
            elif not ranked:
                assert now[k] == was[k]


@pytest.mark.slow
@pytest.mark.rule("t1weight")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_rule_left_uncompiled_decides_the_same_to_the_byte(edition):
    place = len(PRODUCTION[edition].funnel.criteria) // 2
    for seed, fields in enumerate(({}, {"is_scout": True}, {"t1weight": -1})):
        verdicts = [asked_of(with_rule(edition, rule, place), seed, n=40, **fields)[0]
                    for rule in (too_weak, too_weak_in_python)]
        compiled, plain = ([column.tobytes() for column in (
            verdict.refused_by, verdict.weight, verdict.order, verdict.queued, verdict.cap)] for verdict in verdicts)
        assert plain == compiled and reasons(verdicts[0]) == reasons(verdicts[1])


@pytest.mark.slow
@pytest.mark.parametrize("factor", [power, power_in_python], ids=["compiled", "in Python"])
def test_a_factor_in_the_tuple_multiplies_the_weight(factor):
    usual = PRODUCTION["documented"]
    view, numbers = queues(2, corepower=[4.0, 3.0]), stats(2, running=[10, 90])
    before = run_brokerage(usual, task(), view, numbers, None, cfg())
    after = run_brokerage(replace(usual, factors=(*usual.factors, factor)), task(), view, numbers, None, cfg())
    assert after.weight.tolist() == (before.weight * [4, 3]).tolist()
    assert after.figures().factors["power"].tolist() == [4, 3]


def of_scouts(**terms):
    """A criterion that would refuse every queue, under terms."""
    @candidate_criterion("-scouts", **MINE, **terms)
    def no_scouts(task, queue, load, link, store, numbers):
        """Refuse queues."""
        return True, 1.0, 0.0
    return no_scouts


@pytest.mark.slow
@pytest.mark.parametrize(("edition", "terms"), [
    pytest.param("documented", dict(applies=lambda task: task["is_scout"]), id="it concerns scouts"),
    pytest.param("deployed", dict(may_refuse=lambda task: task["is_scout"]), id="it refuses scouts"),
    pytest.param("documented", dict(applies=lambda task: task["is_scout"], may_refuse=lambda task: True), id="both"),
])
def test_a_rule_is_asked_only_about_tasks_that_it_concerns_and_may_refuse(edition, terms):
    usual, mine = PRODUCTION[edition], with_rule(edition, of_scouts(**terms), 0)
    assert reasons(asked_of(mine, is_scout=False)[0]) == reasons(asked_of(usual, is_scout=False)[0])
    assert {reason[0] for reason in reasons(asked_of(mine, is_scout=True)[0])} == {"-scouts"}


def random_records(dtype, n, rng):
    """Records of a candidate of any values, plausible or not, (n,)."""
    records = np.zeros(n, dtype)
    for name in dtype.names:
        values = {"b": [False, True], "f": [-1, 0, 1e-3, 1, 1000, 1e12, np.nan]}.get(dtype[name].kind, [-1, 0, 1, 100])
        records[name] = rng.choice(values, n)
    return records


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_rule_refuses_no_candidate_of_a_task_that_it_does_not_concern(edition):
    rng = np.random.default_rng(5)
    asked = list(zip(*(random_records(dtype, 300, rng) for dtype in (TASK, QUEUE, LOAD, LINK, STORE, NUMBERS)),
                     strict=True))
    for rule in PRODUCTION[edition].candidate_criteria:
        with np.errstate(all="ignore"):
            answers = {(rule.rule.concerns(records[0]), bool(uncompiled(rule)(*records)[0])) for records in asked}
        assert (False, True) not in answers, rule.__name__


@pytest.mark.parametrize("place", [0, 20])
def test_a_rule_about_the_weight_may_stand_anywhere(place):
    view, numbers = queues(3, maxrss_mb=[1000.0, np.inf, np.inf]), stats(3, running=[0, 0, 30])
    verdict = run_brokerage(with_rule("documented", too_light, place), task(ramcount=2000), view, numbers, None, cfg())
    first = "-light" if place == 0 else "-lowmemory"
    assert [reason[0] for reason in reasons(verdict)] == [first, "-light", None]


def test_a_rule_about_all_candidates_must_say_on_what_it_depends():
    @criterion("-never", **MINE)
    def never_asked(case):
        return np.zeros(case.n_candidates, bool)
    with pytest.raises(ValueError, match="never_asked: a rule of job brokerage about all candidates needs `static`"):
        with_rule("documented", never_asked, 3)


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_rule_of_a_function_is_compiled_for_itself():
    """Two rules of one name and one text, in one process: neither is taken for the other."""
    def at_most(limit):
        @candidate_criterion("-power", **MINE)
        def too_strong(task, queue, load, link, store, numbers):
            return queue["corepower"] > limit, queue["corepower"], limit
        return too_strong
    view = queues(3, corepower=[4.0, 6.0, 8.0])
    for limit, refused in ((5.0, [False, True, True]), (7.0, [False, False, True])):
        verdict = run_brokerage(with_rule("documented", at_most(limit), 9), task(), view, stats(3), None, cfg())
        assert [reason[0] == "-power" for reason in reasons(verdict)] == refused


MAKE = """
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
print(PRODUCTION["documented"].decide.__code__.co_filename)
"""


def written_by(folder, n):
    """Files of the decision that n processes at once are given, each in a folder of compiled code that may be new."""
    env = os.environ | {"SIMGRID_BROKER_CACHE": str(folder), "NUMBA_DISABLE_JIT": "1"}
    made = [subprocess.Popen([sys.executable, "-c", MAKE], env=env, stdout=subprocess.PIPE, text=True)
            for _ in range(n)]
    return [process.communicate()[0].strip() for process in made]


def test_processes_that_start_at_once_share_one_file(tmp_path):
    files = written_by(tmp_path, 3)
    assert len(set(files)) == 1 and files[0].startswith(str(tmp_path))
    assert [file.name for file in tmp_path.glob("*.py")] == [files[0].rpartition("/")[2]]
    assert not [file for file in tmp_path.glob("*") if file.suffix != ".py"]


def test_a_folder_that_cannot_be_written_is_replaced_by_another(tmp_path):
    (tmp_path / "file").write_text("no folder")
    files = written_by(tmp_path / "file", 1)
    assert not files[0].startswith(str(tmp_path)) and files[0].endswith(".py")

"""Runs that fail in known ways: `why` names the link, the rule and the key, and a relaxed key raises the share."""

import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from simgrid_broker import Scenario, load_scenario, metrics, simulate
from simgrid_broker.cli.studies import of_options
from simgrid_broker.experiments.figures import known_figures, unknown_figures
from simgrid_broker.experiments.study_file import base_scenario
from simgrid_broker.experiments.sweep import combinations
from simgrid_broker.metrics.chain import LINKS, Cause
from simgrid_broker.metrics.chain_words import relaxed, sweep_of
from simgrid_broker.records import read_run
from simgrid_broker.report.answers import answers
from simgrid_broker.report.blocks import Note, TableBlock
from simgrid_broker.report.context import context
from simgrid_broker.units import format_seconds

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SATURATED = {
    "duration": "5h", "warm_up": "1h",
    "workload.campaigns.simulation.corecount": 1, "workload.campaigns.simulation.events_per_job": 12,
    "workload.campaigns.simulation.offered_cores": 500, "workload.users.analysis.offered_cores": 200}
"""Changes of `minimal.yaml` after which all jobs have one core, and both shares more work than cores."""
MCORE = {"workload.campaigns.simulation.corecount": 8, "workload.campaigns.simulation.events_per_job": 100}
GDP, CAMPAIGN, QUEUES = "gdpconfig.", "workload.campaigns.simulation.", "grid.queues."


@cache
def saturated():
    return load_scenario(SCENARIOS / "minimal.yaml").with_values(SATURATED)


def chain(folder, changes, share="Production", scenario=None):
    """The chain of a share in a run with changes."""
    run = simulate((scenario or saturated()).with_values(changes), folder=folder)
    found, = metrics.why(run, share)
    return found


BROKEN = {
    "running jobs of the share": ({GDP + "NRUNNINGCAP_Production": 50}, "throttler", "running > NRUNNINGCAP",
                                  GDP + "NRUNNINGCAP_Production"),
    "running jobs of the core type": ({GDP + "NRUNNINGCAP_Production_SCORE*": 50}, "throttler", "running > NRUNNINGCAP",
                                      GDP + "NRUNNINGCAP_Production_SCORE*"),
    "running jobs of the resource type": ({GDP + "NRUNNINGCAP_Production_SCORE": 50}, "throttler",
                                          "running > NRUNNINGCAP", GDP + "NRUNNINGCAP_Production_SCORE"),
    "queued jobs": ({GDP + "NQUEUECAP_Production": 5}, "throttler", "all jobs of a cycle made",
                    GDP + "NQUEUECAP_Production"),
    "queued over running jobs": ({GDP + "THROTTLE_THRESHOLD": 0.05}, "throttler", "queued > threshold x running",
                                 GDP + "THROTTLE_THRESHOLD"),
    "period of generation": ({"agents.job_generator": "3h"}, "throttler", "job generation runs once an hour at most",
                             "agents.job_generator"),
    "generation is off": ({GDP + "JOB_SUBMISSION": False}, "throttler", "jobs are not generated",
                          GDP + "JOB_SUBMISSION"),
    "memory": ({CAMPAIGN + "memory_per_core": "40 GB"}, "task brokerage", "-job: no queue passes -lowmemory",
               QUEUES + "*.maxrss"),
    "no queue for 8 cores": (MCORE | {QUEUES + f"{name}.capability": "score" for name in ("CENTRE", "NORTH", "SOUTH")},
                             "task brokerage", "-job: no queue passes -cpucore", QUEUES + "*.capability"),
    "workers": ({QUEUES + f"{name}.params": {"maxWorkers": 5} for name in ("CENTRE", "NORTH", "SOUTH")}, "slots",
                "workers are cut by maxWorkers", QUEUES + "CENTRE.params.maxWorkers"),
    "closed queues": ({QUEUES + f"{name}.status": "brokeroff" for name in ("NORTH", "SOUTH")}, "job brokerage",
                      "-status", QUEUES + "*.status"),
    "closed to one share": ({QUEUES + f"{name}.fairsharepolicy": "type=any:0%" for name in ("NORTH", "SOUTH")} | {
        "workload.users.analysis.replicas": {"number": 3, "where": "any", "incomplete": 0},
        "workload.users.analysis.offered_cores": 400}, "job brokerage", "-zeroshare", QUEUES + "*.fairsharepolicy"),
    "transfers": ({"grid.links.default.bandwidth": "0.3 Mb/s", CAMPAIGN + "input_per_job": "150 MB"}, "input of jobs",
                  "jobs wait for their input at idle queues", "grid.links.default.bandwidth"),
    "work": ({CAMPAIGN + "offered_cores": 20, CAMPAIGN + "backlog_time": 0}, "tasks that arrived", "too little work",
             CAMPAIGN + "offered_cores"),
}
"""Changes that break a run, with the link, the rule and the first setting that `why` is to name for Production."""


def on_first_screen(folder):
    """Cells about Production, and sentences, of the first section of the report of a run."""
    blocks = answers(context(read_run(folder))).blocks
    rows = [row for block in blocks if isinstance(block, TableBlock) and block.anchor == "short"
            for row in block.frame.astype(str).itertuples(index=False) if row[0] == "Production"]
    return rows[0] if rows else (), " ".join(block.text for block in blocks if isinstance(block, Note))


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A function that makes a run that is broken in a way of BROKEN, once; it returns its folder and the chain."""
    @cache
    def made(name):
        folder = tmp_path_factory.mktemp("broken") / "run"
        return folder, chain(folder, BROKEN[name][0])
    return made


@pytest.mark.parametrize("name", BROKEN)
def test_a_run_made_to_fail_is_told_by_its_link_rule_and_key(name, broken):
    _, link, rule, setting = BROKEN[name]
    folder, found = broken(name)
    cells, sentences = on_first_screen(folder)
    if found.is_short:
        _, got, could, missed, since, held, key, *_ = cells
        assert float(missed) == pytest.approx(float(could) - float(got)) and float(missed) > 0.05 * found.target
        assert held == f"{link}: {rule}" and key.startswith(setting)
        assert since == f"{format_seconds(found.since_s)} ({found.hours_short} of {found.hours} h)"
    else:
        assert name == "work" and f"its tasks had work for {found.could_use:.0f} ({setting} = 20)" in sentences
    assert found.delivered < 0.9 * found.target
    assert (found.cause.link, found.cause.rule) == (link, rule)
    assert found.cause.settings[:1] == ((setting,) if setting else ()), "the key that binds comes first"


def test_a_cap_of_a_user_holds_the_tasks_of_its_share(tmp_path):
    shares = {"shares.Analysis.value": 80, "shares.Production.value": 20}
    found = chain(tmp_path / "run", shares | {"edition": "deployed", GDP + "CAP_RUNNING_USER_JOBS": 2}, "Analysis")
    assert (found.cause.link, found.cause.settings[0]) == ("caps of users", GDP + "CAP_RUNNING_USER_JOBS")


def test_input_on_tape_holds_tasks(tmp_path):
    slow = {f"grid.storages.{site}_DATATAPE.drive_rate": "1 MB/s" for site in ("NORTH", "SOUTH")}
    found = chain(tmp_path / "run", slow | {"duration": "6h"}, "Reprocessing",
                  load_scenario(SCENARIOS / "data_carousel.yaml"))
    assert found.cause.link == "input of tasks"


def test_siblings_with_one_and_eight_cores_are_told_by_what_holds_the_slots(tmp_path):
    """Pilots of eight cores may run single-core jobs; where each type has its own, waiting workers decide."""
    short = {"median": 6000, "sigma": 0.2}
    queues = ("EAST", "WEST")
    scenario = load_scenario(SCENARIOS / "siblings.yaml").with_values(
        {"duration": "9h", "warm_up": "3h"} | {
            f"workload.campaigns.{name}.hs06sec_per_event": short for name in ("simulation", "derivations")})
    wasted = chain(tmp_path / "pull", {QUEUES + f"{name}.workflow": "pull" for name in queues}, "Event generation",
                   scenario)
    assert (wasted.cause.link, wasted.cause.rule) == ("slots", "pilots run jobs of fewer cores than they hold")
    assert set(wasted.cause.settings) == {QUEUES + f"{name}.workflow" for name in queues}
    streamed = chain(tmp_path / "streamed", {}, "Event generation", scenario)
    assert streamed.delivered > 1.2 * wasted.delivered
    assert streamed.cause.rule == "workers of MCORE hold the slots, and those of SCORE are cut by nQueueLimitWorker"
    assert set(streamed.cause.settings) == {QUEUES + f"{name}.workflow" for name in queues}


def test_a_share_that_alone_holds_the_slots_is_capped_for_the_others(tmp_path):
    """DIRAC's pilots of eight cores are all of one share, so that its cap frees slots for jobs of one core."""
    run = simulate(load_scenario(SCENARIOS / "dispatch_dirac.yaml").with_values({"duration": "9h", "warm_up": "4h"}),
                   folder=tmp_path / "run")
    before, = metrics.why(run, "Generation")
    cap = GDP + "NRUNNINGCAP_Simulation"
    assert before.cause.link == "slots" and before.cause.settings[0] == cap
    changed = relaxed(run, before.cause)
    assert changed == {cap: 18} and f"{cap}=null,35,18" in sweep_of(run, before.cause, "Generation")
    after = chain(tmp_path / "capped", changed, "Generation", run_scenario(run))
    assert after.delivered > 1.2 * before.delivered


@pytest.mark.parametrize(("name", "value"), [
    pytest.param("running jobs of the share", 500, id="the cap of running jobs"),
    pytest.param("queued jobs", 500, id="the cap of queued jobs"),
    pytest.param("generation is off", True, id="the switch of generation"),
    pytest.param("period of generation", 1080, id="the period of generation"),
])
def test_the_key_that_is_named_raises_the_share_when_it_is_relaxed(name, value, broken, tmp_path):
    changes, _, _, setting = BROKEN[name]
    (_, before), after = broken(name), chain(tmp_path / "run", changes | {setting: value})
    assert after.delivered > 1.2 * before.delivered
    assert after.cause is None or after.cause.settings[:1] != (setting,), "the cause moves"


def test_the_sweep_that_is_printed_varies_the_scenario_of_the_run(tmp_path):
    """Read as the command line reads it: seed and settings are those of the run, and every point is valid."""
    changes = {QUEUES + f"{name}.maxtime": "10 min" for name in ("NORTH", "SOUTH")} | {"seed": 3}
    run = simulate(saturated().with_values(changes | {"duration": "3h"}), folder=tmp_path / "run")
    cause = Cause("job brokerage", "-shortwalltime", (QUEUES + "*.maxtime",))
    line = sweep_of(run, cause, "Production")
    words = dict(pairwise(shlex.split(line)))
    file = of_options(Path(words["sweep"]), [words["--vary"]])
    assert file.vary.keys() == {QUEUES + "{NORTH,SOUTH}.maxtime"}
    points = [base_scenario(file).with_values(one) for one in combinations(file.vary)]
    assert points[0] == run_scenario(run), "the first value is that of the run"
    assert [point.grid.queues["SOUTH"].maxtime for point in points] == [600, 6000, 0]
    assert not unknown_figures((words["--figure"],), known_figures(points[0]), None, "figures")


def run_scenario(run):
    """The scenario of a run."""
    return Scenario.from_dict(run.manifest["scenario"])


def test_widths_never_grow_along_the_chain_and_end_with_what_runs(tmp_path):
    run = simulate(saturated(), folder=tmp_path / "run")
    for each in metrics.why(run):
        assert list(each.widths) == sorted(each.widths, reverse=True) and len(each.widths) == len(LINKS)
        assert each.widths[-1] == each.delivered and each.could_use <= each.target
    with pytest.raises(ValueError, match="the shares are Analysis, Production"):
        metrics.why(run, "Produktion")
    assert [each.share for each in metrics.why(run)] == ["Analysis", "Production"]


def test_a_run_without_these_records_has_no_answer(tmp_path):
    run = simulate(saturated().with_values({"duration": "2h", "workload.campaigns": [], "workload.users": []}),
                   folder=tmp_path / "run")
    del run.tables["throttler"]
    assert metrics.why(run) == ()

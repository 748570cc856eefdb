"""The scenarios that come with the project: they load, say where their figures come from, and offer what they claim."""

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from simgrid_broker.errors import ScenarioError
from simgrid_broker.policy.shares.dispatch import UNDEFINED, TagRule, tag
from simgrid_broker.scenario.checks.cross_checks import remarks
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.scenario.shares import TAGS, leaf_names, shares_with_keys
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.units import DAY, HOUR

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scenarios"
DATA = ROOT.parent / "shared" / "data"
BASES = ("atlas.yaml", "atlas_saturated.yaml", "shares_2018.yaml")
SNAPSHOTS = ("snapshot.yaml", "dirac_snapshot.yaml")
RUNNABLE = ("minimal.yaml", "quickstart.yaml", "full_chain.yaml", "work_shortage.yaml", "gpu_campaign.yaml",
            "atlas_day.yaml", "atlas_week.yaml", "atlas_year.yaml", "lcg_replay.yaml", "memory_retry.yaml",
            "work_queues.yaml", "task_commands.yaml", "network_weight.yaml", "fast_rebrokerage.yaml",
            "site_outage.yaml", "splitting.yaml", "merging.yaml", "scouts.yaml", "flat_shares.yaml",
            "unused_shares.yaml", "siblings.yaml", "dispatch_panda.yaml", "dispatch_dirac.yaml", "pilot_modes.yaml",
            "unified_queue_evgen_boost.yaml", "dispatch_orders.yaml", "link_outage.yaml",
            "nucleus_full.yaml", "new_nucleus.yaml", "data_carousel.yaml", "whole_container.yaml",
            "greedy_user.yaml", "popular_dataset.yaml", "remote_reading.yaml", "users_week.yaml",
            "preemptible.yaml", "jumbo.yaml", "lhcb_day.yaml",
            "troubled_grid.yaml", "saturated_day.yaml")
CORES = 500_000

PRINTED = {
    "Analysis": 20, "Express": 3, "Data Derivations": 7.4, "MC Derivations": 7.4, "Event Index": 0.74,
    "HLT Reprocessing": 2.2, "MC16 evgen": 10.1, "MC Other evgen": 2.5, "MC 16": 3.6, "MC Other": 0.9,
    "MC 16 simul": 21.4, "MC Other simul": 5.3, "Overlay": 1.5, "Reprocessing default": 5.9, "Heavy Ion": 1.5,
    "Upgrade": 2.2, "Validation": 2.2, "Test": 2,
}
"""Per cent of the whole in July 2018; source: EPJ Web Conf. 214 (2019) 03025."""


@pytest.fixture(scope="module")
def day():
    """The scenario of one ATLAS day."""
    return load_scenario(FOLDER / "atlas_day.yaml")


@pytest.fixture(scope="module")
def day_tasks(day):
    """Its tasks."""
    return task_list(day)


@pytest.fixture(scope="module")
def saturated():
    """The scenario of a day with more work in every share than its target."""
    return load_scenario(FOLDER / "saturated_day.yaml")


@pytest.fixture(scope="module")
def saturated_tasks(saturated):
    """Its tasks."""
    return task_list(saturated)


def targets(shares, whole=100.0):
    """Per cent of each leaf share."""
    total = sum(share.value for share in shares)
    found = {}
    for share in shares:
        part = whole * share.value / total
        found |= targets(share.children, part) if share.children else {share.name: part}
    return found


def leaf_of(scenario):
    """A function from the words of a task to the name of its leaf share."""
    leaves = [share for _, share in shares_with_keys(scenario.shares) if not share.children]
    rules = [TagRule(k, **{name: getattr(leaf, name) for name in TAGS}) for k, leaf in enumerate(leaves)]

    def named(stream):
        number = tag(rules, {name: getattr(stream, name, None) for name in TAGS})
        return None if number == UNDEFINED else leaves[number].name
    return named


def streams(scenario):
    """Campaigns and groups of users of a scenario."""
    return (*scenario.workload.campaigns, *scenario.workload.users)


def core_hours(scenario, tasks, corepower=None):
    """Wall time x cores of all jobs of each task, h, on the mean core of the grid, staging and failures left out."""
    sites = scenario.grid.sites
    power = corepower or np.average([scenario.grid.queues[f"{name}_UCORE"].corepower for name in sites],
                                    weights=[site.cores for site in sites.values()])
    rows = tasks.rows
    work = rows["work_hs06s_per_event"] * rows["n_events_per_job"] / rows["cpu_efficiency"] / power
    return (work + rows["basewalltime_s"] * rows["corecount"]) * rows["n_jobs"] / HOUR


# ---- the folder ----------------------------------------------------------------------------------------------------

def test_every_file_is_known_and_described():
    assert {path.name for path in FOLDER.glob("*.y*ml")} == {*BASES, *RUNNABLE, *SNAPSHOTS}
    text = (FOLDER / "README.md").read_text()
    assert not [name for name in (*BASES, *RUNNABLE, *SNAPSHOTS) if f"`{name}`" not in text]


@pytest.mark.parametrize("name", RUNNABLE)
def test_scenarios_load_without_a_remark(name):
    scenario = load_scenario(FOLDER / name)
    assert scenario.name == Path(name).stem and scenario.description
    expected = ["There is no work"] if name == "lcg_replay.yaml" else []
    expected += ["1 of 84 storage("] if name == "lcg_replay.yaml" else []
    expected += ["CRIC software gp"] if name == "gpu_campaign.yaml" else []
    expected += (["CRIC software gp", "entries in gpu_s", "2 of 13 storage("] if name == "troubled_grid.yaml" else [])
    assert [remark[:16] for remark in remarks(scenario)] == expected


@pytest.mark.parametrize(("name", "missing"), [
    pytest.param("atlas.yaml", "shares", id="no shares"),
    pytest.param("atlas_saturated.yaml", "shares", id="no shares beside more work"),
    pytest.param("shares_2018.yaml", "grid", id="no grid")])
def test_a_base_alone_says_what_it_lacks(name, missing):
    with pytest.raises(ScenarioError, match=f"{missing}: is missing"):
        load_scenario(FOLDER / name)


@pytest.mark.parametrize("name", ["quickstart.yaml", "atlas_day.yaml", "saturated_day.yaml",
                                  "network_weight.yaml"])
def test_every_stream_cites_its_source(name):
    scenario = load_scenario(FOLDER / name)
    assert not [stream.name for stream in streams(scenario) if not re.search(r"WS \d|^as |assumed", stream.source)]


def test_day_and_week_have_the_same_work(day):
    week = load_scenario(FOLDER / "atlas_week.yaml")
    assert week.workload == day.workload and week.shares == day.shares and week.duration == 7 * DAY
    assert day.duration - day.warm_up == DAY


def test_shares_side_by_side_have_the_targets_and_the_rules_of_the_tree(saturated):
    flat = load_scenario(FOLDER / "flat_shares.yaml")
    assert not any(share.children for share in flat.shares)
    assert targets(flat.shares) == pytest.approx(targets(saturated.shares))
    rules = [{share.name: [getattr(share, name) for name in TAGS] for _, share in shares_with_keys(of.shares)
              if not share.children} for of in (flat, saturated)]
    assert list(rules[0].items()) == list(rules[1].items())
    assert flat.workload == saturated.workload and flat.grid == saturated.grid
    assert flat.duration == saturated.duration


def test_the_smallest_is_small():
    tasks = task_list(load_scenario(FOLDER / "minimal.yaml"))
    assert 200 < tasks.rows["n_jobs"].sum() < 1500


def blocks_of_readme():
    """The YAML blocks of the gallery."""
    return re.findall(r"```yaml\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)


def test_the_example_of_the_gallery_runs(tmp_path):
    for name in BASES:
        (tmp_path / name).write_text((FOLDER / name).read_text())
    (tmp_path / "mine.yaml").write_text(blocks_of_readme()[0])
    assert load_scenario(tmp_path / "mine.yaml").incidents[0].share == "MC simul"


def test_the_template_for_cric_takes_a_dump(tmp_path):
    if not (DATA / "cric").is_dir():
        pytest.skip(f"{DATA / 'cric'} is not there")
    for name in BASES:
        (tmp_path / name).write_text((FOLDER / name).read_text())
    for name, source in (("pandaqueues.json", "pandaqueues_subset.json"), ("rses.json", "rse_relations_derived.json")):
        (tmp_path / name).write_text((DATA / "cric" / source).read_text())
    (tmp_path / "cric_day.yaml").write_text(blocks_of_readme()[1])
    scenario = load_scenario(tmp_path / "cric_day.yaml")
    assert len(scenario.grid.queues) > 150 and "T0-CH-01" not in scenario.grid.sites
    of_streams = [np.isin(np.array(tasks.vocabularies["task_names"])[tasks.rows["name"]],
                          [stream.name for stream in streams(scenario)]).sum()
                  for tasks in map(task_list, (scenario, load_scenario(FOLDER / "atlas_day.yaml")))]
    assert of_streams[0] == of_streams[1] > 10_000


# ---- shares --------------------------------------------------------------------------------------------------------

def test_shares_are_those_of_july_2018(day):
    found = targets(day.shares)
    assert {name: round(part, 2 if PRINTED[name] < 1 else 1) for name, part in found.items()} == pytest.approx(
        PRINTED, abs=0.051)


def test_weights_are_the_inferred_ones(day):
    path = DATA / "shares" / "global_shares_2018-07_rows_derived.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    rows = {row["name"]: row["value"] for row in json.loads(path.read_text())["rows"]}
    assert {share.name: share.value for _, share in shares_with_keys(day.shares)} == rows


def test_each_leaf_has_work_and_all_work_a_leaf(day):
    found = {stream.name: leaf_of(day)(stream) for stream in streams(day)}
    assert None not in found.values() and set(found.values()) == set(leaf_names(day))


@pytest.mark.parametrize(("words", "leaf"), [
    pytest.param({"prodsourcelabel": "user"}, "Analysis", id="user"),
    pytest.param({"prodsourcelabel": "managed", "processingtype": "simul", "campaign": "MC23e"}, "MC Other simul",
                 id="simulation of a later campaign"),
    pytest.param({"prodsourcelabel": "managed", "processingtype": "deriv", "campaign": "data25"}, "Data Derivations",
                 id="derivation of data"),
    pytest.param({"prodsourcelabel": "managed", "processingtype": "merge", "campaign": "MC16d"}, "MC 16", id="merging"),
    pytest.param({"prodsourcelabel": "ptest"}, "Test", id="test"),
])
def test_tagging(day, words, leaf):
    class Words:
        workinggroup = "AP_ANY"
    for name, word in words.items():
        setattr(Words, name, word)
    assert leaf_of(day)(Words) == leaf


# ---- the offered load ----------------------------------------------------------------------------------------------

COUNTED = {"pile": 24_000, "merge": 30_000, "deriv": 22_000, "recon": 7_700, "evgen": 4_300, "reprocessing": 2_300}
"""Finished jobs of 1 December 2017; source: workload statistics, section 4."""


def test_the_day_offers_twice_the_counted_jobs_on_twice_the_cores(day):
    """All but simulation, to which what is left is offered; all jobs are between twice those of that day (WS 4) and two
    million (WS 1)."""
    jobs, cores = defaultdict(float), defaultdict(float)
    for stream in streams(day):
        jobs[stream.processingtype] += stream.offered_cores * DAY / stream.mean_job_core_s
        cores[stream.processingtype] += stream.offered_cores
    assert {kind: jobs[kind] / counted for kind, counted in COUNTED.items()} == pytest.approx(
        dict.fromkeys(COUNTED, 2.2), abs=0.65)
    assert 2 * 590_641 < sum(jobs.values()) < 2e6 and sum(cores.values()) == pytest.approx(CORES, rel=0.07)
    assert not day.gdpconfig and cores["panda-client"] == pytest.approx(0.2 * CORES)


def test_every_share_can_fill_its_target_at_all_times(saturated, saturated_tasks):
    """What has arrived until each hour is at least what the share's target of 500 000 cores can do until then."""
    names = saturated_tasks.vocabularies["task_names"]
    of_stream = {stream.name: leaf_of(saturated)(stream) for stream in streams(saturated)}
    leaf = np.array([of_stream[name] for name in names])[saturated_tasks.rows["name"]]
    work, arrival = core_hours(saturated, saturated_tasks), saturated_tasks.rows["arrival_s"]
    hours = range(1, int(saturated.duration / HOUR) + 1)
    short = [(name, hour) for name, part in targets(saturated.shares).items() for hour in hours
             if work[(leaf == name) & (arrival < hour * HOUR)].sum() < part / 100 * CORES * hour]
    assert not short


def test_the_backlog_is_wide_enough(saturated, saturated_tasks):
    """At the start each share has jobs for more cores than its target."""
    names = saturated_tasks.vocabularies["task_names"]
    of_stream = {stream.name: leaf_of(saturated)(stream) for stream in streams(saturated)}
    leaf = np.array([of_stream[name] for name in names])[saturated_tasks.rows["name"]]
    rows = saturated_tasks.rows
    cores = rows["n_jobs"] * rows["corecount"] * (rows["arrival_s"] == 0)
    assert not [name for name, part in targets(saturated.shares).items()
                if cores[leaf == name].sum() < part / 100 * CORES]


def test_about_a_million_jobs_a_day(saturated, saturated_tasks):
    """Jobs that 500 000 cores can do in a day if the shares are met."""
    names = saturated_tasks.vocabularies["task_names"]
    of_stream = {stream.name: leaf_of(saturated)(stream) for stream in streams(saturated)}
    work, jobs = defaultdict(float), defaultdict(float)
    for k, name in enumerate(names):
        mask = saturated_tasks.rows["name"] == k
        work[of_stream[name]] += core_hours(saturated, saturated_tasks)[mask].sum()
        jobs[of_stream[name]] += saturated_tasks.rows["n_jobs"][mask].sum()
    per_day = sum(part / 100 * CORES * 24 * jobs[name] / work[name]
                  for name, part in targets(saturated.shares).items())
    assert 0.7e6 < per_day < 1.05e6


def wall_h(scenario, tasks, name):
    """Wall times of all jobs of one stream at 13.6 HS06 per core, h: the spread between jobs at even quantiles."""
    stream = next(s for s in streams(scenario) if s.name == name)
    rows = tasks.rows[tasks.rows["name"] == tasks.vocabularies["task_names"].index(name)]
    mean = rows["work_hs06s_per_event"] * rows["n_events_per_job"] / rows["cpu_efficiency"] / stream.cores / 13.6
    z = np.linspace(-2, 2, 41)
    spread = np.exp(stream.work_spread * z - stream.work_spread**2 / 2)
    wall = (mean[:, None] * spread + rows["basewalltime_s"][:, None]) / HOUR
    weight = rows["n_jobs"][:, None] * np.exp(-z**2 / 2)
    order = np.argsort(wall, axis=None)
    return wall.ravel()[order], np.cumsum(weight.ravel()[order]) / weight.sum()


@pytest.mark.parametrize(("kinds", "low", "high"), [
    pytest.param(("MC16 full simulation", "MC16 fast simulation"), 0.9, 9.9, id="simulation"),
    pytest.param(("MC16 digitisation and reconstruction",), 1.0, 4.9, id="pile-up"),
    pytest.param(("MC16 merging of HITS", "MC16 merging of AOD"), 0.1, 3.1, id="merging"),
    pytest.param(("MC derivations", "data derivations"), 3.9, 10.8, id="derivation"),
    pytest.param(("MC15 reconstruction",), 0.2, 0.7, id="reconstruction"),
])
def test_median_wall_times_lie_between_the_published_quartiles(day, day_tasks, kinds, low, high):
    """Workload statistics, section 5.1; reconstruction has 0.2 to 0.63 h there."""
    for name in kinds:
        wall, part = wall_h(day, day_tasks, name)
        assert low < wall[np.searchsorted(part, 0.5)] < high, name


@pytest.mark.parametrize(("name", "work", "input_mb", "output_mb"), [
    pytest.param("MC16 full simulation", 3878, None, 0.66, id="simulation"),
    pytest.param("MC16 event generation", 1623, None, 0.024, id="event generation"),
    pytest.param("MC16 digitisation and reconstruction", 861, 0.66, 0.52, id="digitisation and reconstruction"),
    pytest.param("MC16 merging of HITS", 1.95, 0.61, 0.61, id="merging of HITS"),
    pytest.param("MC derivations", 26, 0.51, None, id="derivation, mean about a median of 23"),
])
def test_work_and_sizes_per_event_are_the_published_ones(day, name, work, input_mb, output_mb):
    """Workload statistics, sections 6.1 and 6.2."""
    stream = next(s for s in streams(day) if s.name == name)
    assert stream.hs06sec_per_event.mean == pytest.approx(work, rel=0.03)
    assert input_mb is None or stream.input_per_event == pytest.approx(input_mb * 1e6)
    assert output_mb is None or stream.output_per_event == pytest.approx(output_mb * 1e6)


def test_about_a_tenth_fails(day, day_tasks):
    """Sites and payloads together, workload statistics, section 8: 9.95 % of all jobs."""
    sites = day.grid.sites.values()
    of_sites = np.average([site.failure_rate for site in sites], weights=[site.cores for site in sites])
    of_payloads = np.average(day_tasks.rows["failure_rate"], weights=day_tasks.rows["n_jobs"])
    assert of_sites + of_payloads == pytest.approx(0.0995, abs=0.03)


# ---- the trace -----------------------------------------------------------------------------------------------------

def test_lcg_replay_takes_the_trace():
    path = DATA / "swf" / "LCG-2005-1_first60000.swf.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    scenario = load_scenario(FOLDER / "lcg_replay.yaml", overrides=[f"workload.trace.file={path}"])
    tasks = task_list(scenario)
    assert tasks.rows["n_jobs"].sum() > 59_000 and len(tasks.rows) < 1000         # tasks by owner and group
    mean_load = core_hours(scenario, tasks, corepower=10).sum() / 24 / 3.67
    assert mean_load < sum(site.cores for site in scenario.grid.sites.values())

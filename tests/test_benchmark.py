"""The cases of the benchmark do what they say, on small grids; how fast they are is not tested."""

import importlib.util
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import yaml

from simgrid_broker.scenario import load_scenario

SCRIPT = Path(__file__).parents[1] / "scripts" / "benchmark.py"


@pytest.fixture
def benchmark(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_yardstick_ends_every_process(benchmark):
    for equal_waits in (False, True):
        assert benchmark.yardstick(50, equal_waits)["jobs"] == 50


def test_both_variants_of_the_yardstick_stand_beside_the_cases(benchmark, monkeypatch):
    speeds = iter([10.0, 20.0, 30.0, 50.0, 20.0, 40.0])
    monkeypatch.setattr(benchmark, "yardstick", lambda equal_waits: {"jobs_per_s": next(speeds)})
    monkeypatch.setattr(benchmark, "CASES", {"one": lambda: {"jobs_per_s": 80.0}, "other": lambda: {"median_us": 3.0}})
    assert benchmark.measured(["one", "other"]) == {
        "simpy": {"jobs_per_s": 20.0}, "simpy_equal_waits": {"jobs_per_s": 40.0},
        "one": {"jobs_per_s": 80.0, "ratio_to_simpy": 4.0, "ratio_to_simpy_equal_waits": 2.0},
        "other": {"median_us": 3.0}}


def test_the_fabric_keeps_its_slots_full(benchmark):
    from benchmark_cases import slots
    found = slots.jobs_per_s_of_fabric(2, 40, 100)
    assert found["jobs"] >= 100 and found["running"] >= 39


def test_the_timeout_rules_find_the_jobs_that_are_too_old(benchmark):
    found = benchmark.timeouts(180000)
    assert found["found"] == -(-found["jobs"] // 1000)


def test_a_long_run_is_measured_at_its_begin_and_at_its_end(benchmark, monkeypatch):
    from benchmark_cases import growth
    monkeypatch.setattr(growth, "THINNED", 400)
    monkeypatch.setattr(growth, "SITES", 1)
    found = growth.long_run(0.1, 0.05, 0.02)
    assert found["jobs"] > 0 and found["live"] <= found["rows"] and found["cost_ratio"] > 0
    assert found["cost_ratio"] == pytest.approx(found["day_cost_ratio"] / found["jobs_ratio"])


@pytest.mark.parametrize(("growth_s", "ratio"), [(0.0, 1.0), (0.5, 1.2)])
def test_fewer_jobs_at_the_end_are_not_taken_for_growth(benchmark, growth_s, ratio):
    from benchmark_cases import growth
    jobs = np.array([70.0, 60.0, 40.0, 50.0, 30.0]) * 1e3                   # the mean window costs 2.5 s
    found = growth.at_equal_jobs(1.0 + 30e-6 * jobs + growth_s * np.linspace(0, 1, 5), jobs)
    assert found == {"cost_ratio_at_equal_jobs": pytest.approx(ratio), "not_by_jobs_percent": pytest.approx(40.0)}


def test_growth_is_measured_in_three_directions(benchmark, monkeypatch):
    from benchmark_cases import growth
    asked = []
    monkeypatch.setattr(growth, "jobs_per_s_of_fabric", lambda *sizes: asked.append(sizes) or {"jobs_per_s": 1e6})
    found = growth.growth()
    assert {found[f"{name}_ratio"] for name in ("shares", "queues", "cores")} == {1.0}
    assert asked == [(100, 60_000, 200_000, 3), (100, 60_000, 200_000, 100), (10, 60_000, 200_000, 30),
                     (600, 60_000, 200_000, 30), (10, 1_000, 200_000, 30), (300, 499_800, 200_000, 30)]


def test_the_matcher_finds_jobs_among_many_and_leaves_as_many(benchmark):
    found = benchmark.dirac(n_queues=50, n_jobs=500, n_matches=120)
    assert found["jobs_waiting"] == 500 and found["found_percent"] > 50 and found["median_us"] > 0


def test_a_match_is_timed_with_few_and_with_many_waiting_jobs(benchmark):
    found = benchmark.match(few=600, many=1200, n_matches=200)
    assert found["jobs_waiting"] == 1200 and found["found_percent"] > 0
    assert found["cost_ratio"] == found["median_us_of_1200"] / found["median_us_of_600"]


def test_turns_of_task_brokerage_are_measured_by_their_tasks(benchmark, monkeypatch):
    from benchmark_cases import tasks
    turns = {2.0: [tasks.Turn(0.002, 90), tasks.Turn(0.001, 10)], 0.05: [tasks.Turn(0.001, 5)]}
    monkeypatch.setattr(tasks, "turns_of", lambda tasks_per_s, period_s: turns[tasks_per_s])
    assert benchmark.task_brokerage() == {
        "tasks_per_turn": 50.0, "us_per_task": pytest.approx(30.0), "small_tasks_per_turn": 5.0,
        "small_us_per_task": pytest.approx(200.0)}


def test_recorded_tasks_go_to_task_brokerage_one_by_one(benchmark, tmp_path, monkeypatch):
    from benchmark_cases import tasks
    small = yaml.safe_load(tasks.ATLAS.read_text())
    small["grid"] = {"synthetic": {"sites": 5, "cores": 1000}}
    small["workload"] = {}
    (tmp_path / "atlas.yaml").write_text(yaml.safe_dump(small))
    monkeypatch.setattr(tasks, "ATLAS", tmp_path / "atlas.yaml")
    turns = tasks.turns_of(0.05, 300)
    assert len(turns) == 6 and sum(turn.decisions for turn in turns) == pytest.approx(90, abs=20)
    assert all(turn.spent_s > 0 for turn in turns)


def test_every_site_fetches_from_many_while_the_optimiser_shares_the_doors(benchmark):
    found = benchmark.optimiser(n_sites=6, n_links=12, n_cycles=3)
    assert (found["active_links"], found["gates"]) == (12, 12)
    assert found["cpu_ms"] > 0


def test_the_event_ranges_case_counts_each_transition(benchmark):
    found = benchmark.event_ranges(n_inputs=3, n_ranges=20, repeats=1)
    assert found["ranges"] == 60 and found["us_per_transition"] > 0 and found["bytes_per_range"] >= 33


def test_the_handover_case_measures_a_bundle_and_a_named_tuple(benchmark):
    found = benchmark.handover(n_arrays=50, n_calls=50, n_inner=50)
    assert set(found) == {f"{kind}_{figure}" for kind in ("bundle", "tuple")
                          for figure in ("call_us", "inner_ns", "compile_s")}
    assert all(value > 0 for value in found.values())


def test_a_command_is_measured_and_one_that_fails_is_named(benchmark):
    used = benchmark.commands.command(("-c", "bytes(50_000_000); sum(range(2_000_000))"))
    assert used["cpu_seconds"] > 0.01 and used["seconds"] > 0.01 and used["peak_mib"] > 5
    with pytest.raises(RuntimeError, match="no such grid"):
        benchmark.commands.command(("-c", "raise SystemExit('no such grid')"))


def test_two_versions_take_turns_and_the_first_turn_of_each_is_not_counted(benchmark, tmp_path):
    numbers, order = count(1), []

    def measure(checkout):
        order.append(checkout)
        return {"cpu_seconds": float(next(numbers))}
    found = benchmark.commands.alternated(measure, tmp_path, 2)
    assert order == [benchmark.commands.ROOT, tmp_path] * 3
    assert found == {"cpu_seconds": 4.0, "against_cpu_seconds": 5.0, "ratio_to_against": 0.8,
                     "ratio_to_against_from": 0.75, "ratio_to_against_to": pytest.approx(5 / 6)}


def test_a_run_is_compared_by_its_processor_time_and_by_ended_job(benchmark, tmp_path):
    def measure(checkout):
        return {"cpu_seconds": 6.0, "cpu_us_per_job": 30.0 if checkout == tmp_path else 6.0}
    found = benchmark.commands.alternated(measure, tmp_path, 1)
    assert (found["ratio_to_against"], found["ratio_to_against_by_job"]) == (1.0, 0.2)
    assert "ratio_to_against_from" not in found


def test_several_pairs_give_the_spread_of_their_ratios(benchmark, tmp_path):
    ours, theirs = iter([9.0, 2.0, 3.0, 8.0]), iter([1.0, 4.0, 4.0, 4.0])
    found = benchmark.commands.alternated(
        lambda checkout: {"cpu_seconds": next(theirs if checkout == tmp_path else ours)}, tmp_path, 3)
    assert [found[f"ratio_to_against{end}"] for end in ("", "_from", "_to")] == [0.75, 0.5, 2.0]


@pytest.mark.slow
def test_hours_of_a_run_are_measured_apart_from_the_rest(benchmark):
    from benchmark_cases import windows
    figures = windows.spent(windows.Hours(windows.FROZEN / "minimal.yaml", 1, 3), benchmark.commands.ROOT)
    assert figures["jobs"] > 0 and figures["cpu_us_per_job"] * figures["jobs"] / 1e6 == pytest.approx(
        figures["cpu_seconds"])
    assert all(figures[name] > 0 for name in ("imports_s", "building_s", "before_s", "closing_s"))


def test_an_idle_grid_keeps_its_queues_and_has_no_work(benchmark, tmp_path):
    from benchmark_cases import windows
    week = windows.FROZEN / "users_week.yaml"
    idle, busy = (load_scenario(path).to_dict() for path in (windows.without_work(week, tmp_path), week))
    assert idle["grid"] == busy["grid"] and not idle["workload"]["users"] and busy["workload"]["users"]


def test_a_name_that_is_neither_a_folder_nor_a_commit_is_refused(benchmark, tmp_path):
    assert benchmark.commands.sources(str(tmp_path)) == tmp_path.resolve()
    with pytest.raises(ValueError, match="no-such-commit is neither a folder nor a commit"):
        benchmark.commands.sources("no-such-commit")


def test_older_sources_run_the_scenario_without_what_they_do_not_know(benchmark, tmp_path):
    commands = benchmark.commands
    whole = yaml.safe_load(commands.ATLAS.read_text())
    schema = tmp_path / "simgrid_broker" / "schema"
    schema.mkdir(parents=True)
    (schema / "grid.py").write_text("failure_rate: float\nlost_heartbeats: float = 0\n")
    older = yaml.safe_load(commands.atlas_for(tmp_path, tmp_path).read_text())
    assert older["grid"]["sites"]["T2-DE-01"] == {"failure_rate": 0.0184, "lost_heartbeats": 0}
    assert [site.pop("stage_out_errors") for site in whole["grid"]["sites"].values()] == [0] * 170
    assert older == whole
    assert commands.atlas_for(commands.ROOT, tmp_path) == commands.ATLAS


def test_work_that_older_sources_cannot_do_is_refused(benchmark, tmp_path, monkeypatch):
    file = tmp_path / "atlas.yaml"
    file.write_text("grid: {sites: {A: {lost_heartbeats: 0, stage_out_errors: 0.1}}}")
    monkeypatch.setattr(benchmark.commands, "ATLAS", file)
    with pytest.raises(ValueError, match="does not know stage_out_errors, which is not 0"):
        benchmark.commands.atlas_for(tmp_path / "old", tmp_path)


def test_the_recorded_jobs_fill_the_site(benchmark, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark.commands, "N_RECORDED", 300)
    scenario = load_scenario(benchmark.commands.one_site(tmp_path))
    records = [line.split() for line in scenario.workload.trace.file.read_text().splitlines()[1:]]
    cores_s = sum(float(record[3]) for record in records)
    assert len(records) == 300 and {record[4] for record in records} == {"1"}
    assert cores_s / max(float(record[1]) for record in records) == pytest.approx(0.9 * 200, rel=0.03)


PAGE = """Text.
<!-- sizes: rows written by scripts/benchmark.py sizes --write -->
| run |
| --- |
| `quickstart.yaml` | old |
| `atlas_week.yaml` | old |
<!-- end of sizes -->
More.
"""


def test_rows_that_are_not_measured_stay_in_the_table(benchmark):
    sizes = benchmark.sizes
    page = sizes.written(PAGE, {"quickstart": "| `quickstart.yaml` | new |\n"})
    assert page == ("Text.\n" + sizes.BEGIN + sizes.HEAD + "| `quickstart.yaml` | new |\n| `atlas_week.yaml` | old |\n"
                    + sizes.END + "More.\n")
    with pytest.raises(ValueError, match="no table between"):
        sizes.written("Text.\n", {})
    assert "GiB; Python 3." in sizes.machine()


def test_the_readme_has_a_row_for_each_size(benchmark):
    sizes = benchmark.sizes
    table = sizes.PAGE.read_text(encoding="utf-8").split(sizes.BEGIN)[1].split(sizes.END)[0]
    assert table.startswith(sizes.HEAD)
    assert [row.split("`")[1] for row in table.splitlines()[2:]] == [f"{name}.yaml" for name in sizes.SCENARIOS]


def test_a_file_costs_what_more_files_take(benchmark, monkeypatch):
    from benchmark_cases import network
    runs = iter([(9.0, 1), (1.0, 1000), (2.0, 1_001_000), (1.0, 1000), (5.0, 1_001_000), (1.0, 1000), (3.0, 1_001_000)])
    asked = []
    monkeypatch.setattr(network, "run_once", lambda plan: asked.append(plan.workload.campaigns) or next(runs))
    assert network.files(factor=7) == {"more_files": 1_000_000, "us_per_file": 2.0}
    few, many = asked[-2:]
    assert [each.files_per_job for each in many] == [7 * each.files_per_job for each in few]


@pytest.mark.parametrize(("value", "text"), [
    (0.546, "0.55"), (1.05, "1.05"), (99.99, "99.99"), (100.0, "100.0"), (75426.58, "75,426.6"), (278700, "278700"),
    (float("inf"), "inf")])
def test_a_ratio_is_not_rounded_to_its_budget(benchmark, value, text):
    assert benchmark.printed(value) == text

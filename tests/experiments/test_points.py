"""Points are ordinary runs: finished ones are never repeated, failed ones keep their message."""

import json
import math
from pathlib import Path

import pytest
from small_study import quick

from simgrid_broker.errors import StudyError
from simgrid_broker.experiments.figures import figures, known_figures
from simgrid_broker.experiments.running import (
    MOST_CHECKED,
    Common,
    Workers,
    _Pace,
    check_points,
    run_on,
    run_point,
    unfinished,
)
from simgrid_broker.experiments.study import DONE, FAILED, OPEN, Point, begin, clear_unfinished, read_study, state_of
from simgrid_broker.records import read_run
from simgrid_broker.scenario import load_scenario


def ran(study, points, scenario, cluster, fails=()):
    """Run what is left of some points of a study in this process; those that were asked for."""
    cluster.asked, cluster.fails = [], fails
    run_on(cluster, points, unfinished(points, study.folder), Common(study.folder, (scenario,)), Workers())
    return cluster.asked


def test_a_point_is_an_ordinary_run_with_its_settings_and_seed(tmp_path):
    point = Point("more", 7, {"shares.Analysis.value": 50})
    assert state_of(point, tmp_path) == (OPEN, "")
    assert run_point(Common(tmp_path, (quick(),)), point) == (DONE, "")
    run = read_run(tmp_path / "more" / "seed-7")
    assert (run.manifest["seed"], run.manifest["scenario"]["shares"][0]["value"]) == (7, 50)
    assert not list(tmp_path.glob("*/.seed*")) and not (run.folder / "report.html").exists()


def test_figures_of_a_run_have_the_names_that_are_known_before_it(tmp_path):
    scenario = quick()
    run_point(Common(tmp_path, (scenario,)), Point("base", 1))
    run = read_run(tmp_path / "base" / "seed-1")
    table = figures(run)
    assert set(table.figure) <= set(known_figures(scenario)) and table.figure.is_unique
    assert {"finished", "wait_p50", "shares.Analysis.delivered", "sites.NORTH.running_cores"} <= set(table.figure)
    assert figures(run).equals(table)                                     # the second time from its file


def test_figures_of_shares_within_the_tree_and_of_data_are_known_and_waits_of_a_branch_are_not():
    known = set(known_figures(load_scenario(Path(__file__).parents[2] / "scenarios" / "unused_shares.yaml")))
    assert {"shares.Evgen.delivered", "shares.Evgen A.delivered", "shares.Evgen A.above_due",
            "waiting.Evgen A.wait_p50", "data.input.waiting_jobs", "data.output.waiting_jobs", "traffic_moved",
            "door_use", "link_use", "refusals.-cap.part", "throttled_share_hours"} <= known
    assert not known & {"waiting.Evgen.wait_p50", "shares.Evgen C.delivered"}


def test_finished_points_are_not_repeated_and_dead_ones_are(tmp_path, here_and_now):
    scenario, points = quick(), [Point("base", seed) for seed in (1, 2, 3)]
    study = begin(tmp_path, "replicate", {}, points)
    assert ran(study, points, scenario, here_and_now, fails=(2,)) == [("base", 1), ("base", 2), ("base", 3)]
    assert study.points().set_index("seed").state.to_dict() == {1: DONE, 2: FAILED, 3: DONE}
    assert study.points().set_index("seed").message[2] == "MemoryError: died"
    first = (tmp_path / "base" / "seed-1" / "manifest.json").stat().st_mtime_ns
    assert ran(study, points, scenario, here_and_now) == [("base", 2)]
    assert set(study.points().state) == {DONE} and set(study.points().message) == {""}
    assert (tmp_path / "base" / "seed-1" / "manifest.json").stat().st_mtime_ns == first


def test_an_interrupted_run_is_not_finished_and_its_rest_is_cleared(tmp_path):
    left = tmp_path / "base" / ".seed-1.elsewhere-1"
    left.mkdir(parents=True)
    (left / "manifest.json").write_text(json.dumps({"status": "running"}))
    assert state_of(Point("base", 1), tmp_path)[0] == OPEN
    clear_unfinished(tmp_path)
    assert not left.exists()


def test_a_point_that_fails_keeps_its_message_and_leaves_no_folder(tmp_path):
    point = Point("base", 1, {"shares.Analyis.value": 1})
    state, message = run_point(Common(tmp_path, (quick(),)), point)
    assert (state, state_of(point, tmp_path)) == (FAILED, (FAILED, message))
    assert "did you mean 'Analysis'?" in message and not point.folder(tmp_path).exists()


def test_progress_expects_the_end_by_the_mean_time_of_the_points_so_far():
    pace = _Pace(total=10, before=4)
    assert pace.now(4)[:3] == (4, 0, 4) and math.isnan(pace.now(4).left_s)
    pace.began -= 30
    for state in (DONE, DONE, FAILED):
        pace.count(state)
    now = pace.now(4)
    assert now[:4] == (6, 1, 3, 10) and now.left_s == pytest.approx(30, abs=1)


def test_settings_that_name_nothing_or_are_out_of_range_are_refused_together():
    points = [Point("a", 1, {"gdpconfig.NQUEUELIMITSITE_Production": 5}), Point("b", 1, {"shares.Analyis.value": 1}),
              Point("c", 1, {"workload.campaigns.simulation.corecount": -1})]
    with pytest.raises(StudyError) as refused:
        check_points(points, [quick()])
    assert [problem.key for problem in refused.value.problems] == ["shares.Analyis.value",
                                                                   "workload.campaigns.simulation.corecount"]
    assert refused.value.problems[0].nearest == ("Analysis",)


def test_of_many_points_those_at_the_ends_of_each_range_are_checked():
    scenario = quick()
    many = [Point(f"p{k}", 1, {"shares.Analysis.value": k, "edition": "documented"}) for k in range(1, 300)]
    asked = []
    check_points([*many, Point("last", 1, {"shares.Analysis.value": 7.5, "edition": "deployed"})], [scenario],
                 check=lambda one: asked.append((one.shares[0].value, one.edition)))
    assert len(asked) == MOST_CHECKED + 2 and {(299, "documented"), (7.5, "deployed")} <= set(asked)


def test_a_changed_study_is_refused_and_says_what_changed(tmp_path):
    begin(tmp_path, "replicate", {"scenario": {"shares": [{"name": "Analysis", "value": 20}]}}, [Point("base", 1)])
    with pytest.raises(StudyError, match="begun with 20") as refused:
        begin(tmp_path, "replicate", {"scenario": {"shares": [{"name": "Analysis", "value": 30}]}}, [Point("base", 1)])
    assert refused.value.problems[0].key == "scenario.shares.Analysis.value"


def test_seeds_may_be_added_to_a_study(tmp_path):
    begin(tmp_path, "replicate", {"a": (1, 2)}, [Point("base", 1)])
    begin(tmp_path, "replicate", {"a": [1, 2]}, [Point("base", 2)])
    assert [point.seed for point in read_study(tmp_path).plan] == [1, 2]


def test_fewer_seeds_and_points_reuse_what_is_there(tmp_path):
    def points(values, seeds):
        return [Point(f"p{k + 1:04d}", seed, {"a": value}) for k, value in enumerate(values) for seed in seeds]
    begin(tmp_path, "sweep", {}, points([1, 2, 3], [1, 2]))
    study = begin(tmp_path, "sweep", {}, points([3, 4], [1]))
    assert [(point.group, point.settings["a"]) for point in study.plan] == [("p0003", 3), ("p0004", 4)]
    assert len(read_study(tmp_path).plan) == 7


def test_a_figure_without_a_value_ends_a_study_at_its_first_run(tmp_path, here_and_now):
    points = [Point("base", seed) for seed in (1, 2, 3)]
    study = begin(tmp_path, "replicate", {}, points)
    with pytest.raises(StudyError, match="door_use.*has no value in the run.*seed-1"):
        run_on(here_and_now, points, points, Common(tmp_path, (quick(),)), Workers(), ("finished", "door_use"))
    assert len(study.finished()) == 1


def test_a_folder_with_something_else_is_no_study(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StudyError, match="not empty"):
        begin(tmp_path, "replicate", {}, [])

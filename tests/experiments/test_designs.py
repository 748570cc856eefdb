"""Study files are refused with line and nearest name before anything runs; designs fill their space."""

import json

import numpy as np
import pytest
from small_study import MINIMAL, quick, study_file

from simgrid_broker.errors import ScenarioError, StudyError
from simgrid_broker.experiments.running import LOCAL
from simgrid_broker.experiments.sensitivity import indices, plan_of, sample, too_few
from simgrid_broker.experiments.study_file import (
    Axis,
    SensitivityFile,
    SweepFile,
    TuneFile,
    base_scenario,
    read_study_file,
    seeds_of,
)
from simgrid_broker.experiments.sweep import combinations, levels, numbered, swept, value_at
from simgrid_broker.experiments.tune import tuned

RANGE = {"from": 1, "to": 100}


def axes(**values):
    """Axes of `x`, `y`, ... with lists of values or ranges."""
    return {key: Axis.model_validate(value if isinstance(value, dict) else {"values": value})
            for key, value in values.items()}


@pytest.mark.parametrize(("text", "seeds"), [
    pytest.param(3, (1, 2, 3), id="a number"), pytest.param("5-7", (5, 6, 7), id="a range"),
    pytest.param("4-4", (4,), id="one seed"), pytest.param("1-2,7", (1, 2, 7), id="several"),
    pytest.param("1-3,2-4", (1, 2, 3, 4), id="each once")])
def test_seeds(text, seeds):
    assert seeds_of(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "-3", "5-", "7-5", "x", "1.5", "1,,2"])
def test_impossible_seeds(text):
    with pytest.raises(ValueError, match="seed"):
        seeds_of(text)


def test_a_grid_has_all_combinations_and_a_list_goes_in_step():
    two = axes(x=[1, 2], y=["a", "b", "c"])
    assert len(list(combinations(two))) == 6 and next(combinations(two)) == {"x": 1, "y": "a"}
    assert list(combinations(axes(x=[1, 2], y=["a", "b"]), "list")) == [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]


@pytest.mark.parametrize("design", ["latin_hypercube", "sobol"])
def test_samples_fill_each_axis_and_are_the_same_every_time(design):
    space = axes(x={"from": 0, "to": 1}, y={"from": 1, "to": 1000, "scale": "log"}, z=["a", "b"])
    points = list(combinations(space, design, 16))
    assert points == list(combinations(space, design, 16)) and len(points) == 16
    assert len({int(16 * point["x"]) for point in points}) == 16
    assert sum(point["y"] < 31.6 for point in points) == 8 and sum(point["z"] == "a" for point in points) == 8


def test_ranges_have_steps_scales_and_whole_numbers():
    assert levels(Axis.model_validate({"from": 0, "to": 1, "steps": 3})) == [0.0, 0.5, 1.0]
    assert levels(Axis.model_validate({"from": 1, "to": 100, "steps": 3, "scale": "log"})) == [1.0, 10.0, 100.0]
    assert levels(Axis.model_validate({"from": 1, "to": 3, "whole": True})) == [1, 2, 3]
    assert value_at(axes(x=["a", "b"])["x"], 1.0) == "b"


def test_equal_settings_are_one_point():
    points = list(numbered([{"x": 1}, {"x": 2}, {"x": 1}], (1, 2)))
    assert [(point.group, point.seed) for point in points] == [("p0001", 1), ("p0001", 2), ("p0002", 1), ("p0002", 2)]


@pytest.mark.parametrize(("model", "keys", "expected"), [
    pytest.param(SweepFile, {"vary": {"a": {"from": 2, "to": 1}}}, "must be below", id="empty range"),
    pytest.param(SweepFile, {"vary": {"a": {"from": 2}}}, "list of values, or a range", id="half a range"),
    pytest.param(SweepFile, {"vary": {"a": {"from": 0, "to": 1, "scale": "log"}}}, "above 0", id="logarithm of 0"),
    pytest.param(SweepFile, {"vary": {"a": []}}, "at least 1|at least one", id="no values"),
    pytest.param(SweepFile, {"vary": {}}, "at least 1", id="nothing varied"),
    pytest.param(SweepFile, {"vary": {"a": [1]}, "points": 4}, "no effect in a grid", id="points of a grid"),
    pytest.param(SweepFile, {"vary": {"a": [1], "b": [1, 2]}, "design": "list"}, "a has 1, b has 2", id="uneven list"),
    pytest.param(SweepFile, {"vary": {"a": [1]}, "design": "girds"}, "'grid'", id="unknown design"),
    pytest.param(SweepFile, {"vary": {"a": [1]}, "seeds": "9-3"}, "such as 5-9", id="no range"),
    pytest.param(SweepFile, {"vary": {"a": [1]}, "trials": 3}, "unknown key", id="key of another study"),
    pytest.param(SensitivityFile, {"vary": {"a": RANGE}, "method": "sobol", "points": 6}, "power of 2", id="6 samples"),
    pytest.param(SensitivityFile, {"vary": {"a": [1]}}, "one value", id="nothing to depend on"),
    pytest.param(TuneFile, {"vary": {"a": RANGE}, "objectives": {}}, "at least 1", id="no objective"),
    pytest.param(TuneFile, {"vary": {"a": RANGE}, "objectives": {"finished": "maximise"}, "seeds": "1-3",
                            "confirm": "3-5"}, "other seeds", id="confirmed on the same seeds"),
    pytest.param(TuneFile, {"vary": {"a": RANGE}, "objectives": {"finished": "maximise"}, "constraints": {
        "failed": {}}}, "at_least or at_most", id="no limit")])
def test_a_wrong_study_file_is_refused(tmp_path, model, keys, expected):
    with pytest.raises(StudyError, match=expected) as refused:
        read_study_file(study_file(tmp_path, **keys), model)
    assert "study.yaml" in refused.value.problems[0].file


def test_a_setting_that_names_nothing_is_refused_with_its_line_and_nearest_name(tmp_path):
    path = study_file(tmp_path, vary={"shares.Analyis.value": [1, 2], "edition": ["documented", "deploid"]})
    line = 1 + path.read_text().split("\n").index('  "shares.Analyis.value": [')
    with pytest.raises(StudyError) as refused:
        swept(read_study_file(path, SweepFile), tmp_path / "out", LOCAL, "study")
    problem = refused.value.problems[0]
    assert (problem.file, problem.line, problem.nearest) == (str(path), line, ("Analysis",))
    assert not (tmp_path / "out").exists()


def test_an_unknown_name_is_said_once_and_every_wrong_value(tmp_path):
    path = study_file(tmp_path, vary={"gdpconfig.NW_ACTIV": [1, 2, 3],
                                      "workload.campaigns.simulation.corecount": [8, -8, -9]})
    with pytest.raises(StudyError) as refused:
        swept(read_study_file(path, SweepFile), tmp_path / "out", LOCAL, "study")
    assert [(problem.key.rpartition(".")[2], problem.value) for problem in refused.value.problems] == [
        ("NW_ACTIV", 1), ("corecount", -8), ("corecount", -9)]


def test_a_value_out_of_its_range_is_refused_with_its_line(tmp_path):
    path = study_file(tmp_path, vary={"workload.campaigns.simulation.corecount": [8, -8]})
    with pytest.raises(StudyError) as refused:
        swept(read_study_file(path, SweepFile), tmp_path / "out", LOCAL, "study")
    problem = refused.value.problems[0]
    assert (problem.key, problem.value) == ("workload.campaigns.simulation.corecount", -8) and problem.line


def test_figures_and_objectives_that_no_run_has_are_refused(tmp_path):
    file = read_study_file(study_file(tmp_path, vary={"shares.Analysis.value": [1]}, figures=["wait_p51"]), SweepFile)
    with pytest.raises(StudyError, match="or 'wait_p50'"):
        swept(file, tmp_path / "out", LOCAL, "study")
    file = read_study_file(study_file(tmp_path, vary={"shares.Analysis.value": RANGE}, objectives={
        "shares.Analyses.delivered": "maximise"}), TuneFile)
    with pytest.raises(StudyError, match="shares.Analysis.delivered"):
        tuned(file, tmp_path / "out", LOCAL, "study")


def test_a_scenario_that_is_missing_is_refused(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(json.dumps({"scenario": "nowhere.yaml", "vary": {"edition": ["documented"]}}))
    with pytest.raises(ScenarioError, match="nowhere.yaml: cannot be read"):
        base_scenario(read_study_file(path, SweepFile))


def test_settings_of_all_points_are_laid_over_the_scenario(tmp_path):
    file = read_study_file(study_file(tmp_path, vary={"edition": ["documented"]}), SweepFile)
    assert base_scenario(file).duration == quick().duration and file.scenario.samefile(MINIMAL)


def planted(file, function):
    """Results of a study whose figure is a function of the settings and the seed."""
    import pandas as pd
    return pd.DataFrame([{"group": point.group, "seed": point.seed, "figure": "finished", "unit": "jobs",
                          "window": "all", "value": function(point.settings, point.seed), **point.settings}
                         for point in plan_of(file)])


@pytest.mark.parametrize("method", ["morris", "sobol"])
def test_sensitivity_finds_what_a_figure_depends_on(tmp_path, method):
    file = read_study_file(study_file(tmp_path, method=method, seeds="2",
                                       points=8 if method == "morris" else 256, vary={
        "shares.Analysis.value": {"from": 0, "to": 1}, "workload.users.analysis.offered_cores": {"from": 0, "to": 1},
        "shares.Production.value": {"from": 0, "to": 1}}), SensitivityFile)
    results = planted(file, lambda at, seed: 10 * at["shares.Analysis.value"]
                      + 2 * at["workload.users.analysis.offered_cores"] + seed)
    table = indices(results, file, ("finished",)).set_index(["index", "setting"])
    first = {"morris": "mu_star", "sobol": "ST"}[method]
    parts = table.loc[first].value
    expected = [10, 2, 0] if method == "morris" else [100 / 104, 4 / 104, 0]
    assert parts.tolist() == pytest.approx(expected, abs=0.03) and (table["count"] == 2).all()


def test_known_indices_lie_in_their_intervals_or_the_points_are_too_few(tmp_path):
    keys = ["shares.Analysis.value", "workload.users.analysis.offered_cores", "shares.Production.value",
            "workload.campaigns.simulation.offered_cores"]

    def ishigami(at, seed):
        x, y, z = (2 * np.pi * at[key] - np.pi for key in keys[:3])
        return np.sin(x) + 7 * np.sin(y)**2 + 0.1 * z**4 * np.sin(x)
    vary = {key: {"from": 0, "to": 1} for key in keys}
    known = {"S1": [0.3139, 0.4424, 0, 0], "ST": [0.5576, 0.4424, 0.2437, 0]}
    file = read_study_file(study_file(tmp_path, method="sobol", seeds="1", vary=vary), SensitivityFile)
    table = indices(planted(file, ishigami), file, ("finished",))
    for index, values in known.items():
        rows = table[table["index"] == index]
        assert (rows.low <= values).all() and (rows.high >= values).all() and (rows.error[:3] > 0.01).all(), rows
        assert not rows.error[3:].any(), "the last key is inert"
    assert "about" in too_few(file, table)[0]
    few = read_study_file(study_file(tmp_path, method="sobol", seeds="1", vary=vary, points=8), SensitivityFile)
    assert "set points: 64" in too_few(few, indices(planted(few, ishigami), few, ("finished",)))[0]


def test_morris_needs_one_more_run_than_settings_a_trajectory(tmp_path):
    file = read_study_file(study_file(tmp_path, points=4, vary={
        "shares.Analysis.value": RANGE, "shares.Production.value": RANGE}), SensitivityFile)
    assert sample(file).shape == (12, 2) and np.ptp(sample(file)) == 1

"""Sweeps and searches of real runs, and a search for a planted optimum."""

import numpy as np
import pandas as pd
import pytest
import yaml
from small_study import study_file

from simgrid_broker.errors import StudyError
from simgrid_broker.experiments.running import Workers
from simgrid_broker.experiments.study import read_study
from simgrid_broker.experiments.study_file import SweepFile, TuneFile, read_study_file
from simgrid_broker.experiments.sweep import _main_effects, effects, extremes, marginal, swept, write_sweep_report
from simgrid_broker.experiments.tune import (
    best_of,
    confirmation,
    front_of,
    importance,
    open_search,
    optimise,
    settings_of,
    trials_table,
    tuned,
    write_tune_report,
)
from simgrid_broker.report.figures.studies import _with_error


def test_a_sweep_writes_one_tidy_table_and_a_report(tmp_path, here_and_now):
    path = study_file(tmp_path, seeds="2", figures=["finished", "core_occupancy"], vary={
        "workload.users.analysis.offered_cores": [10, 40], "gdpconfig.NQUEUED_SAT_CAP": [1, 300]})
    file = read_study_file(path, SweepFile)
    study = swept(file, tmp_path / "out", Workers(), "study")
    page = write_sweep_report(study, file)
    table = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert table.columns.tolist() == ["group", "workload.users.analysis.offered_cores", "gdpconfig.NQUEUED_SAT_CAP",
                                      "seed", "figure", "value", "unit", "window"]
    assert table.groupby("figure").size()["finished"] == 8
    text = page.read_text(encoding="utf-8")
    assert 'href="p0001/seed-2/"' in text and text.count("<svg ") == 4 and "Main effects" in text
    assert "Changed keys of gdpconfig: point p00" in text and "&quot;NQUEUED_SAT_CAP&quot;" in text
    more = read_study(tmp_path / "out")
    assert set(more.points().state) == {"done"} and "sweep" in repr(more) and "p0004" in more._repr_html_()
    with pytest.raises(StudyError, match="begun with"):
        changed = study_file(tmp_path, seeds="2", vary={"edition": ["documented", "deployed"]})
        swept(read_study_file(changed, SweepFile), tmp_path / "out", Workers(), "study")


def test_marginal_means_have_the_error_over_the_seeds():
    rows = [{"group": f"{x}{y}", "x": x, "y": y, "seed": seed, "figure": "finished", "unit": "jobs", "window": "all",
             "value": 10 * x + y + seed} for x in (1, 2) for y in (0, 5) for seed in (1, 2, 3)]
    table = marginal(pd.DataFrame(rows), "x", "finished")
    assert table.value.tolist() == [14.5, 24.5] and table["count"].tolist() == [3, 3]
    assert table.error.tolist() == pytest.approx([3 ** -0.5, 3 ** -0.5])
    found = effects(pd.DataFrame(rows), ("x", "y"), ("finished",))
    assert found.setting.tolist() == ["x", "y"] and found.value.tolist() == [10, 5]


PLANTED = {"gdpconfig.NQUEUELIMITSITE_Production": {"from": 1, "to": 1000, "scale": "log", "whole": True},
           "shares.Analysis.value": {"from": 0, "to": 100}, "edition": ["documented", "deployed"]}


def search_file(tmp_path, **keys):
    """A study file of a search over three settings."""
    return read_study_file(study_file(tmp_path, **({"vary": PLANTED, "trials": 40, "seeds": "1", "objectives": {
        "wait_p50": "minimise"}} | keys)), TuneFile)


def waits(asked):
    """A runner whose median wait is smallest at an Analysis share of 30 % in the deployed edition."""
    return [{"wait_p50": abs(at["shares.Analysis.value"] - 30) + 20 * (at["edition"] == "documented"),
             "failed": at["shares.Analysis.value"]} for _, at in asked]


@pytest.mark.slow
def test_a_search_finds_a_planted_optimum(tmp_path):
    file = search_file(tmp_path)
    search = optimise(file, tmp_path / "optuna.sqlite", waits, at_once=2)
    best = settings_of(file, best_of(file, search))
    assert best["edition"] == "deployed" and best["shares.Analysis.value"] == pytest.approx(30, abs=5)
    assert len(trials_table(file, search)) == 40
    weights = importance(file, search).set_index("setting").importance
    assert weights["shares.Analysis.value"] > weights["gdpconfig.NQUEUELIMITSITE_Production"]


@pytest.mark.slow
def test_constraints_are_kept_and_their_limit_is_the_optimum(tmp_path):
    file = search_file(tmp_path, trials=25, constraints={"failed": {"at_most": 20}})
    search = optimise(file, tmp_path / "optuna.sqlite", waits)
    best = settings_of(file, best_of(file, search))
    assert 12 <= best["shares.Analysis.value"] <= 20 and best["edition"] == "deployed"


@pytest.mark.slow
def test_of_several_objectives_a_front_remains(tmp_path):
    file = search_file(tmp_path, trials=30, objectives={"wait_p50": "minimise", "failed": "maximise"})
    search = optimise(file, tmp_path / "optuna.sqlite", waits)
    front = front_of(file, search)
    assert 1 < len(front) < 30 and best_of(file, search).number in {trial.number for trial in front}
    for one in front:
        assert not any(other.values[0] < one.values[0] and other.values[1] > one.values[1] for other in front)


def test_an_interrupted_search_loses_and_repeats_no_trial(tmp_path):
    file, asked = search_file(tmp_path, trials=6), []

    def dies(batch):
        asked.extend(name for name, _ in batch)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return waits(batch)
    with pytest.raises(KeyboardInterrupt):
        optimise(file, tmp_path / "optuna.sqlite", dies)
    assert asked == ["t0001", "t0002", "t0003"]
    search = optimise(file, tmp_path / "optuna.sqlite", dies)
    assert asked == ["t0001", "t0002", "t0003", "t0003", "t0004", "t0005", "t0006"]
    assert trials_table(file, search).state.tolist() == ["complete"] * 6


def test_trials_that_fail_count_and_never_win(tmp_path):
    file = search_file(tmp_path, trials=4)
    search = optimise(file, tmp_path / "optuna.sqlite", lambda batch: [None for _ in batch])
    assert best_of(file, search) is None and trials_table(file, search).state.tolist() == ["fail"] * 4
    assert open_search(file, tmp_path / "optuna.sqlite").trials == search.trials


@pytest.mark.slow
def test_a_search_ends_with_the_winner_against_today_on_fresh_seeds(tmp_path, here_and_now):
    file = search_file(tmp_path, trials=2, confirm="11-12", vary={
        "gdpconfig.NQUEUELIMITSITE_Production": [1, 500], "shares.Analysis.value": [20, 60]})
    result = tuned(file, tmp_path / "out", Workers(), "study")
    page = write_tune_report(result, file)
    rows = confirmation(result, file)
    assert set(rows.group) == {result.winner} and (rows["count"] <= 2).all()
    assert "Against today" in page.read_text(encoding="utf-8")
    written = (tmp_path / "out" / "winner.yaml").read_text()
    assert set(yaml.safe_load(written)["gdpconfig"]) == {"NQUEUELIMITSITE_Production"}
    assert "# from 20" in written
    assert "--set shares.Analysis.value=" in written and "(from 20.0)" in written
    again = tuned(file, tmp_path / "out", Workers(), "study")
    assert again.trials.equals(result.trials) and again.winner == result.winner


def test_a_setting_without_any_effect_is_said_so_and_not_listed():
    rows = [{"group": "p", "a": a, "b": b, "seed": seed, "figure": "finished", "value": 10.0 * a + seed, "unit": "jobs",
             "window": "w"} for a in (1, 2) for b in (1, 2) for seed in (1, 2)]
    note, table = _main_effects(pd.DataFrame(rows), ("a", "b"), ("finished",), "grid").blocks
    assert note.text.startswith("b changed none of these figures") and note.strong
    assert table.frame.Setting.tolist() == ["a"] and table.frame.Unit.tolist() == ["jobs"]


@pytest.mark.parametrize(("value", "low", "high", "shown"), [
    pytest.param(27.53, 23.1, 31.9, "27.5\n± 4.4", id="one digit behind the point"),
    pytest.param(26.4, 24.4, 28.4, "26.4\n± 2.0", id="a whole half width"),
    pytest.param(8290.4, 7100, 9480, "8,290\n± 1,190", id="thousands"),
    pytest.param(0.0456, 0.04, 0.0512, "0.0456\n± 0.0056", id="small"),
    pytest.param(3.0, 3.0, 3.0, "3\n± 0", id="no spread"), pytest.param(3.0, np.nan, np.nan, "3", id="one run")])
def test_a_mean_of_a_map_has_the_digits_of_its_error(value, low, high, shown):
    assert _with_error({"value": value, "low": low, "high": high}) == shown


def test_a_figure_that_is_equal_at_all_points_has_one_row():
    table = pd.DataFrame({"group": ["a", "b", "a", "b"], "figure": ["x", "x", "y", "y"], "value": [1.0, 1.0, 2.0, 3.0],
                          "key": [5, 6, 5, 6]})
    rows = extremes(table, ("x", "y", "z"), ("key",))
    assert rows[["figure", "end", "group", "key"]].values.tolist() == [
        ["x", "equal", "all", "any"], ["y", "smallest", "a", 5], ["y", "largest", "b", 6]]

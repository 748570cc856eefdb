"""Groups of runs are compared in pairs of one seed; what differs goes by its name."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_study import quick, runs_of

import simgrid_broker as sb
from simgrid_broker.errors import InputFileError, StudyError
from simgrid_broker.experiments.compare import (
    Group,
    _unsettled,
    all_results,
    grouped,
    recorded,
    remarks_on,
    setting_table,
    write_groups_report,
)
from simgrid_broker.experiments.figures import differences, means, without_value
from simgrid_broker.experiments.intervals import unpaired
from simgrid_broker.experiments.running import LOCAL
from simgrid_broker.report.settings import differing, differing_names

SATURATED = {"workload.campaigns.simulation.corecount": 1, "workload.campaigns.simulation.events_per_job": 2,
             "workload.users.analysis.events_per_job": 200, "workload.campaigns.simulation.offered_cores": 400,
             "workload.users.analysis.offered_cores": 400, "duration": "60 min", "warm_up": "20 min"}
"""More work than cores for jobs of one core, so that shares decide."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folder with four seeds of two groups that differ in a share."""
    folder = tmp_path_factory.mktemp("runs")
    base = quick(**SATURATED)
    runs_of(folder, base, range(1, 5), "base")
    runs_of(folder, base.with_values({"shares.Analysis.value": 50, "shares.Production.value": 50}), range(1, 5), "half")
    return folder


@pytest.fixture(scope="module")
def groups(runs):
    """Both groups."""
    return grouped([runs / "base", runs / "half"], 1, None, LOCAL, sb.load_scenario)[0]


def test_groups_have_the_parts_of_their_names_that_differ(groups):
    assert [group.name for group in groups] == ["base", "half"] and groups[0].seeds() == [1, 2, 3, 4]


def test_a_changed_share_is_found_and_its_setting_named(groups):
    table = differences(all_results(groups), "base", ("shares.Analysis.delivered",))
    row = table.iloc[0]
    assert row.is_real and row.is_paired and row["count"] == 4 and row.low > 0
    assert setting_table(groups).set_index("key").loc["shares.Analysis.value"].tolist() == ["20.0", "50.0"]


def test_pairs_are_narrower_than_two_means_on_a_real_scenario(groups):
    results = all_results(groups)
    table = differences(results, "base").set_index("figure")
    widths = []
    for figure in ("finished", "running_cores", "hs06", "ended_per_hour"):
        one = results[results.figure == figure].pivot(index="seed", columns="group", values="value")
        apart = unpaired(one.base, one.half)
        widths.append((table.high[figure] - table.low[figure]) / (apart.high - apart.low))
    assert np.median(widths) < 1, widths


def test_the_page_says_what_is_real_and_draws_it(groups, tmp_path):
    page, table = write_groups_report(groups, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "shares.Analysis.value" in text and text.count("<svg ") == 3 and "Seeds needed" in text
    assert pd.read_parquet(tmp_path / "differences.parquet").shape == table.shape
    assert set(table.figure) >= {"finished", "wait_p50", "shares.Analysis.delivered"}


def test_different_scenarios_mixtures_and_single_runs_are_said(groups, tmp_path):
    other = runs_of(tmp_path, quick(name="another"), [1])
    mixed = Group("mixed", (*groups[0].runs, groups[1].runs[0]))
    table = differences(all_results([groups[0], Group("other", tuple(other))]), "base")
    text = " ".join(remarks_on([groups[0], Group("other", tuple(other)), mixed], table))
    assert "different scenarios, minimal, another" in text and "shares.Analysis.value" in text
    assert "has one run" in text and not table.is_real.any()


def test_without_common_seeds_means_are_compared(groups):
    first, second = (Group(name, group.runs[part]) for name, group, part in
                     (("base", groups[0], slice(0, 2)), ("half", groups[1], slice(2, 4))))
    table = differences(all_results([first, second]), "base")
    assert not table.is_paired.any() and (table["count"] == 2).any()
    assert "instead of pairs" in " ".join(remarks_on([first, second], table))


def test_means_have_error_count_unit_and_window(groups):
    row = means(groups[0].results(), ("finished",)).iloc[0]
    assert row["count"] == 4 and row.unit == "jobs" and row.window == "20 min to 1 h"
    assert row.low < row.value < row.high and np.isnan(row.boot_low)


@pytest.mark.parametrize(("paths", "names"), [
    pytest.param(["r/base/seed-1", "r/tuned/seed-1"], ["base", "tuned"], id="common ends are left out"),
    pytest.param(["r/q/seed-1", "r/q/seed-1-2"], ["seed-1", "seed-1-2"], id="the last part differs"),
    pytest.param(["r/base", "r/tuned/seed-1"], ["base", "tuned/seed-1"], id="one is deeper"),
    pytest.param(["s/a.yaml", "s/b.yaml"], ["a", "b"], id="files"),
    pytest.param(["r/base", "r/base"], ["base (1)", "base (2)"], id="the same twice")])
def test_names_that_differ(paths, names):
    assert differing_names([Path(path) for path in paths]) == names


def test_elements_of_lists_go_by_their_names():
    a, b = ({"shares": [{"name": "Analysis", "value": value}], "cuts": [1, value]} for value in (20, 30))
    assert list(differing(a, b)) == [("shares.Analysis.value", "20", "30"), ("cuts.1", "20", "30")]
    assert list(differing({"x": [1]}, {"x": [1, 2]})) == [("x", "(1 entry)", "(2 entries)")]


def test_what_is_no_run_is_refused_with_names_nearby(runs):
    with pytest.raises(InputFileError, match="did you mean .*base"):
        grouped([runs / "bas", runs / "half"], 1, None, LOCAL, sb.load_scenario)
    with pytest.raises(InputFileError, match="no manifest"):
        recorded(Path(__file__).parent)


def test_a_path_of_nothing_is_refused_before_a_scenario_runs(runs, tmp_path):
    with pytest.raises(InputFileError, match="did you mean .*half"):
        grouped([quick(), runs / "hlaf"], 1, tmp_path / "study", LOCAL, sb.load_scenario)
    assert not (tmp_path / "study").exists()


def test_runs_without_a_value_or_a_row_of_a_figure_are_counted():
    of = [("base", seed, "finished", 1.0) for seed in (1, 2, 3)] + [("base", 1, "door", 2.0), ("base", 2, "wait", 3.0),
          ("base", 1, "wait", np.nan), ("base", 3, "wait", np.nan)]
    results = pd.DataFrame(of, columns=["group", "seed", "figure", "value"])
    assert without_value(results, ("finished", "wait", "door")) == [
        f"{figure}: 2 of 3 runs have no value and are left out of the mean." for figure in ("wait", "door")]
    both = pd.concat([results, results.query("figure == 'finished'").assign(group="changed")])
    assert without_value(both, ("door",)) == ["door: 2 of 3 runs of base, 3 of 3 runs of changed have no value and are "
                                              "left out of the mean."]
    many = pd.concat([results.assign(group=f"p{number}") for number in range(5)])
    assert "runs of p2 and some of 2 more groups have no value" in without_value(many, ("wait",))[0]
    nowhere = results.assign(value=results.value.where(results.figure == "finished"))
    assert without_value(nowhere) == [] and len(without_value(results)) == 2


def test_a_figure_that_one_group_lacks_is_said_not_to_be_compared(groups, monkeypatch):
    results = all_results(groups)
    of_group = (results.group == groups[1].name) & (results.figure == "wait_p50")
    lacking = results.assign(value=results.value.mask(of_group))
    monkeypatch.setattr("simgrid_broker.experiments.compare.all_results", lambda _: lacking)
    remarks = remarks_on(groups, differences(lacking, groups[0].name, ("wait_p50", "finished")),
                         ("wait_p50", "finished"))
    assert "wait_p50: not compared, because no run of a group has a value." in remarks


def test_a_figure_that_no_run_has_is_refused(groups, tmp_path):
    with pytest.raises(StudyError, match="'wait_p50'"):
        write_groups_report(groups, tmp_path, ("wait_p51",))


def test_differences_whose_intervals_exclude_0_and_that_are_not_real_name_the_correction():
    table = pd.DataFrame({"figure": ["wait_p50", "finished", "failed"], "low": [0.1, -1.0, 3.0],
                          "high": [2.0, 1.0, 4.0], "is_real": [False, False, True], "chance": [0.03, 0.5, 1e-6]})
    says = _unsettled(table)
    assert says.startswith("The intervals of wait_p50 exclude 0") and "3 differences are tested at once" in says
    assert "Holm's correction" in says and _unsettled(table[1:]) == ""

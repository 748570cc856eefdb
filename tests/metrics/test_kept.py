"""Figures that are computed once for each run."""

from types import SimpleNamespace

import pandas as pd

from simgrid_broker.metrics.window import once_per_run


class Recorded(SimpleNamespace):
    """A run; it can be the key of what is kept."""

    __hash__ = object.__hash__


def test_a_figure_is_computed_once_for_each_run_and_argument():
    calls = []

    @once_per_run
    def figure(run, by="share"):
        calls.append((run.name, by))
        return pd.DataFrame({"by": [by]})

    one, other = Recorded(name="one"), Recorded(name="other")
    assert [figure(run, *by).by[0] for run, by in ((one, ()), (one, ()), (one, ("site",)), (other, ()))] == [
        "share", "share", "site", "share"]
    assert calls == [("one", "share"), ("one", "site"), ("other", "share")]


def test_who_changes_a_table_changes_a_copy():
    figure = once_per_run(lambda run: pd.DataFrame({"value": [1.0]}))
    run = Recorded()
    changed = figure(run)
    changed["value"] = 2.0
    assert figure(run).value[0] == 1.0

"""Figures that are computed once for each run."""

from types import SimpleNamespace

import pandas as pd

from simgrid_broker.metrics.window import Pass, made_of_jobs, once_per_run, read_jobs, selection


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


def test_passes_over_the_jobs_are_made_at_once_and_again_only_for_who_asks_again():
    read = []

    def batches(name, columns):
        read.append((name, columns))
        yield pd.DataFrame({"attempt": [1, 2], "queue": ["A", "B"]})[columns]
        yield pd.DataFrame({"attempt": [3], "queue": ["C"]})[columns]
    run = Recorded(batches=batches, manifest={"warm_up_s": 0}, end_s=9.0)
    number, later = Pass(("attempt",), lambda rows, window: len(rows)), selection(
        ["attempt", "queue"], lambda rows, window: rows.attempt > 1)
    for _ in range(2):
        read_jobs(run, (number, later))
    assert made_of_jobs(run, number) == [2, 1]
    assert [rows.queue.tolist() for rows in made_of_jobs(run, later)] == [["B"], ["C"]]
    assert read == [("jobs", ["attempt", "queue"])]
    assert made_of_jobs(run, number) == [2, 1]
    assert read[1:] == [("jobs", ["attempt"])]

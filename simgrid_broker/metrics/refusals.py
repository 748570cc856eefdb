"""Why brokers refused candidates, and how their decisions ended.

What lives here: sums over the window. What does not: the funnel of a single decision.
"""

import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import Run


def refusals(run: Run) -> pd.DataFrame:
    """How often each rule was the first to refuse each candidate; dimensions kind, candidate and tag."""
    window = window_of(run)
    rows = run.table("refusals", ["time_s", "kind", "candidate", "tag", "count"])
    rows = rows[window.covers(rows.time_s)]
    table = rows.groupby(["kind", "candidate", "tag"], observed=True)["count"].sum().rename("refusals").reset_index()
    table = table.astype({"kind": object, "candidate": object, "tag": object})
    return tidy(table, ["kind", "candidate", "tag"], {"refusals": "refusals"}, window)


def decisions(run: Run) -> pd.DataFrame:
    """Decisions on record by kind; metrics decisions, without_candidate (every candidate was refused), jobs placed."""
    window = window_of(run)
    rows = run.table("decisions", ["time_s", "kind", "n_kept", "n_jobs"])
    rows = rows[window.holds(rows.time_s)].assign(without_candidate=rows.n_kept == 0)
    groups = rows.astype({"kind": object}).groupby("kind")
    table = groups.agg(decisions=("n_kept", "size"), without_candidate=("without_candidate", "sum"),
                       placed=("n_jobs", "sum")).reset_index()
    return tidy(table, ["kind"], {"decisions": "decisions", "without_candidate": "decisions", "placed": "jobs"}, window)

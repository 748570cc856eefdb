"""Questions about a run: the answers of `why`, `explain`, `shares`, `coverage`, `users` and `links` as pages."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlencode

import pandas as pd
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simgrid_broker import metrics
from simgrid_broker.cli import links as links_command
from simgrid_broker.cli import shares as shares_command
from simgrid_broker.cli import users as users_command
from simgrid_broker.desk.frame import address, desk_of, shown, table
from simgrid_broker.errors import InputFileError, Problem
from simgrid_broker.metrics import coverage
from simgrid_broker.metrics.chain import Why
from simgrid_broker.metrics.chain_words import sentence, sweep_of
from simgrid_broker.records import Run, read_run
from simgrid_broker.report.blocks import Link
from simgrid_broker.report.caveats import cut_short

KINDS = ("why", "shares", "explain", "users", "links", "coverage")
ASKED = {"task": "task: number or name", "why-not": "queue or nucleus", "share": "share", "user": "user",
         "job": "job: PanDA id", "at": "at, such as 12h"}
"""Options of `explain` that its page asks for, with their meaning."""
LONGEST_S = 120.0
SHARES_NOTE = (
    "Due: target with what shares without work leave, to siblings first; order: place in dispatch at the last sample, "
    "1 = first; waiting: activated jobs then. Limit, of shares below their target: no work; little work: less than the "
    "target; else the first link from the tasks that arrived to the running jobs that is narrower than what the tasks "
    "could have used, with its rule.")


class Part(NamedTuple):
    """A table of an answer with its heading and what its columns mean."""

    title: str
    table: Markup
    note: str = ""


def run_in(request: Request) -> Run:
    """The run of a page; raises InputFileError for one that holds a link out of its folder."""
    return read_run(without_links_out(desk_of(request).places.path(request.path_params["place"])))


def without_links_out(folder: Path) -> Path:
    """A folder of which no file is a link to another folder; raises InputFileError."""
    inside = folder.resolve()
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            raise InputFileError([Problem(str(path), None, "", None, "is a link out of the folder of the run")])
    return folder


def answered(request: Request, kind: str, parts: Iterable[Part] = (), sentences: Iterable[str] = (), text: str = "",
             form: Mapping[str, tuple[str, str]] = MappingProxyType({}), sweeps: Iterable[tuple[str, str]] = ()
             ) -> Response:
    """The page of an answer: sentences, tables, and text as a terminal shows it.

    form: label and value of each field; sweeps: what is varied, and the address of the form that starts it.
    """
    place = request.path_params["place"]
    query = {name: value for name, value in request.query_params.items() if value}
    asked = address(kind, place) + (f"?{urlencode(query)}" if query else "")
    label = " ".join([kind, *(f"{name} {value}" for name, value in query.items())])
    return shown(request, "answer.html", kind=kind, place=place, parts_of=list(parts), sentences=list(sentences),
                 text=text, kinds=KINDS, asked=asked, label=label, form=form,
                 sweeps=list(sweeps))


def printed(request: Request, kind: str, options: Iterable[str] = (), *names: str) -> str:
    """Text that a command prints about the run of a page."""
    place = request.path_params["place"]
    folder = str(without_links_out(desk_of(request).places.path(place)))
    done = subprocess.run([sys.executable, "-P", "-m", "simgrid_broker", kind, *options, "--", folder, *names],
                          capture_output=True, text=True, errors="replace", timeout=LONGEST_S,
                          stdin=subprocess.DEVNULL, env=os.environ | {"COLUMNS": "110"})
    return (done.stdout + done.stderr).replace(folder, place)


def why(request: Request) -> Response:
    """Chains of the shares, or that of one."""
    share = request.query_params.get("share")
    place = request.path_params["place"]
    run = run_in(request)
    if share is not None:
        shares_command.leaves_of(run, "share", share)
        chains = metrics.why(run, share)
        return answered(request, "why", sentences=map(sentence, chains), text=printed(request, "why", [], share),
                        sweeps=[each for chain in chains for each in sweeps_of(run, chain, place)])
    answers = metrics.why(run)
    rows = [(Link(each.share, address("why", place), f"?{urlencode({'share': each.share})}"), each.target,
             each.could_use, each.delivered, "" if each.cause is None else f"{each.cause.link}: {each.cause.rule}")
            for each in answers]
    frame = pd.DataFrame(rows, columns=["Share", "Target, cores", "Could use", "Got", "Cause"])
    note = ("Means over the window; could use: the target, at most all work of the share's tasks; cause: the first "
            "link from the tasks on that is narrower, in most of the hours in which the share was short.")
    return answered(request, "why", [Part("Shares", table(frame), note)] if len(frame) else [], [
        *cut_short(run), *(sentence(each) for each in answers if each.is_short and each.cause is not None)],
        sweeps=[each for chain in answers if chain.is_short for each in sweeps_of(run, chain, place)])


def sweeps_of(run: Run, chain: Why, place: str) -> Iterator[tuple[str, str]]:
    """Sweep that shows what another value of the setting behind a missed share brings; none without such a setting."""
    words = shlex.split(sweep_of(run, chain.cause, chain.share)) if chain.cause is not None else []
    options = {name: [value for before, value in pairwise(words) if before == name] for name in ("--vary", "--figure")}
    if options["--vary"]:
        given = {"scenario": place, "kind": "sweep", "vary": "\n".join(options["--vary"]),
                 "figures": "\n".join(options["--figure"])}
        yield f"{chain.share}: {', '.join(options['--vary'])}", f"/start?{urlencode(given)}"


def shares(request: Request) -> Response:
    """Targets, use, order and limits of the share tree."""
    run, place = run_in(request), request.path_params["place"]
    rows = shares_command.of_run(run)
    frame = pd.DataFrame({
        "Share": pd.Series([Link(row["share"], address("why", place), f"?{urlencode({'share': row['share']})}")
                            if row["level"] else row["share"] for row in rows], dtype=object),
        **{head: [row[key] for row in rows] for key, head in (
            ("target", "Target, %"), ("due", "Due, %"), ("delivered", "Used, %"))},
        "Order": ["" if row["order"] is None else str(row["order"]) for row in rows],
        "Waiting": [row["activated"] for row in rows], "Limit": [row["limit"] for row in rows]})
    return answered(request, "shares", [Part("Share tree", table(frame, [row["level"] for row in rows]), SHARES_NOTE)],
                    cut_short(run))


def users(request: Request) -> Response:
    """Users of a run, those with most cores first."""
    run, place = run_in(request), request.path_params["place"]
    rows, fair = users_command.of_run(run)
    links = [Link(str(user), address("explain", place), f"?{urlencode({'user': user})}") for user in rows.user]
    columns = {"tasks": "Tasks", "started": "Started", "waiting": "Waiting", "cores": "Cores",
               "wait_p50": "Wait, median, h", "wait_p95": "Wait, 95 %, h", "throttled": "Throttled, h",
               "throttled_by": "Throttled by"}
    frame = rows[list(columns)].rename(columns=columns)
    frame.insert(0, "User", pd.Series(links, frame.index, dtype=object))
    jain = [] if fair["jain"] != fair["jain"] else [
        f"Fairness of the power: Jain's index {fair['jain']:.2f} (1 = all users have the same); the ten largest users "
        f"have {100 * fair['largest_ten']:.0f} %."]
    return answered(request, "users", [Part("Users", table(frame))] if len(frame) else [],
                    [*cut_short(run), *(jain if len(frame) else ["No user has an analysis task in this run."])])


OF_LINKS = {"source": "From", "destination": "To", "moved": "Moved, TB", "files": "Files", "rate": "Rate, MB/s",
            "peak_rate": "Peak, MB/s", "utilisation": "Busy, %", "failed": "Failed, %", "wait": "Wait, min",
            "took": "Took, min", "queued_files": "Queued, most"}
OF_DOORS = {"door": "Door", "kind": "Kind", "capacity": "Capacity, Gb/s", "rate": "Mean, MB/s", "peak_rate":
            "Peak, MB/s", "use": "Use, %", "peak_use": "Use at the peak, %", "queued_files": "Queued, most"}
"""Columns of the tables, and their heads."""
LINKS_NOTE = ("Busy: part of the time in which bytes moved; failed: of attempts at files; wait, took: from the request "
              "to the first byte and to the end, mean of transfers; queued: most files that waited or moved.")


def links(request: Request) -> Response:
    """Links and doors of a run, the busiest first."""
    run = run_in(request)
    moved = links_command.links_of(run)
    doors = metrics.wide(metrics.door_use(run))
    parts = [Part(title, table(_headed(rows, heads)), note) for title, rows, heads, note in (
        ("Links, the busiest first", moved, OF_LINKS, LINKS_NOTE), ("Doors", doors, OF_DOORS, "")) if len(rows)]
    return answered(request, "links", parts, [*cut_short(run), *(
        [] if len(moved) else ["Nothing moved between sites in the window of this run."])])


def _headed(rows: pd.DataFrame, heads: Mapping[str, str]) -> pd.DataFrame:
    """Some columns with their heads; rates in MB/s."""
    rates = {name: 1000 * rows[name] for name in ("rate", "peak_rate")}
    return rows.assign(**rates)[list(heads)].rename(columns=heads)


def covered(request: Request) -> Response:
    """Rules, ends, incidents and agents of a run that acted."""
    run = run_in(request)
    tables = {"Rules of the brokers": coverage.rules_used(run), "Ends of attempts": coverage.ends_used(run),
              "Event service": coverage.event_ends_used(run), "Incidents": coverage.incidents_used(run),
              "Agents": coverage.agents_used(run)}
    return answered(request, "coverage", [Part(title, table(_named(rows))) for title, rows in tables.items()
                                          if len(rows)], cut_short(run))


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.rename(columns={name: name.replace("_", " ").capitalize() for name in rows.columns})


def explain(request: Request) -> Response:
    """The answer of `explain` to what the form of the page asks."""
    given = {name: request.query_params.get(name, "").strip() for name in ASKED}
    options = [f"--{name}={value}" for name, value in given.items() if value]
    return answered(request, "explain", text=printed(request, "explain", options), form={
        name: (label, given[name]) for name, label in ASKED.items()})


ROUTES = (Route("/why/{place:path}", why), Route("/shares/{place:path}", shares),
          Route("/explain/{place:path}", explain), Route("/users/{place:path}", users),
          Route("/links/{place:path}", links), Route("/coverage/{place:path}", covered))
LINKS: tuple[tuple[str, str], ...] = ()

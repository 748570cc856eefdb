"""`why`: from a missed share to the link that is too narrow, its rule and key, and a sweep of that."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.loading import recorded_run
from simgrid_broker.cli.shares import leaves_of
from simgrid_broker.cli.text import command, count, paragraph, table

if TYPE_CHECKING:
    from simgrid_broker.metrics.chain import Cause, Why
    from simgrid_broker.records import Run

EXAMPLES = """\b
Examples:
  simgrid-broker why results/minimal/seed-1
  simgrid-broker why results/minimal/seed-1 Production
  simgrid-broker why results/minimal/seed-1 --json
"""
MOST_CAUSES = 4
"""Causes that the answer about one share names."""
NOTE = ("cores, means over the window; could use: the target, at most all work of the share's tasks; cause: the first "
        "link from the tasks on that is narrower, in most of the hours in which the share was short. `why RUN SHARE` "
        "shows the chain of a share")
WITHOUT = ("This run has no records of what held work back, or no whole hour after its warm-up: it is of an older "
           "version, or too short.")


def why(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    share: Annotated[str | None, typer.Argument(metavar="[SHARE]", help="Share of the tree, a leaf or a branch.",
                                                show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say why a share misses its target: the link that is too narrow, its rule and its key.

    Without SHARE: one line for each share, and the sentence of each that is short. With it: the chain from the tasks
    that arrived to running jobs, in cores, what lost most, the settings behind it, and a sweep of the first one.
    """
    recorded = recorded_run(run)
    answers = _answers(recorded, share)
    if as_json:
        typer.echo(json.dumps([_plain(each.to_dict()) for each in answers], indent=1, ensure_ascii=False))
    elif not answers:
        typer.echo(paragraph(WITHOUT))
    else:
        typer.echo(_overview(recorded, answers) if share is None else _about(recorded, answers[0]))


def _answers(run: "Run", share: str | None) -> tuple["Why", ...]:
    """The chains asked for; raises BadArgument for an unknown share."""
    from simgrid_broker import metrics
    if share is not None:
        leaves_of(run, "SHARE", share)
    return metrics.why(run, share)


def _overview(run: "Run", answers: tuple["Why", ...]) -> str:
    """A line for each share, then a sentence and a sweep for each that is short."""
    from simgrid_broker.metrics.chain_words import sentence
    rows = [(each.share, *(f"{cores:,.0f}" for cores in (each.target, each.could_use, each.delivered)),
             "" if each.cause is None else f"{each.cause.link}: {each.cause.rule}") for each in answers]
    blocks = [table(("share", "target", "could use", "got", "cause"), rows, numbers=(1, 2, 3)), paragraph(NOTE)]
    for each in answers:
        if each.is_short and (cause := each.limit or each.cause) is not None:
            blocks.append(f"{paragraph(sentence(each))}\n{_sweep(run, cause, each.share)}")
    return "\n\n".join(blocks)


def _about(run: "Run", each: "Why") -> str:
    """The chain of one share, and what lost most."""
    from simgrid_broker.metrics.chain import LINKS
    from simgrid_broker.metrics.chain_words import sentence
    before = (each.widths[0], *each.widths)
    rows = [(link, f"{width:,.0f}", f"{held - width:,.0f}" if held > width else "")
            for link, width, held in zip(LINKS, each.widths, before, strict=False)]
    blocks = [paragraph(sentence(each)), table(("link", "cores that pass", "held before"), rows, numbers=(1, 2)),
              paragraph(f"Target {each.target:,.0f} cores, due with what other shares left {each.due:,.0f}; short in "
                        f"{each.hours_short} of {count(each.hours, 'hour')}.")]
    causes = [_cause(run, cause, each) for cause in each.causes[:MOST_CAUSES]]
    return "\n\n".join([*blocks, *causes])


def _cause(run: "Run", cause: "Cause", each: "Why") -> str:
    """One cause: what it lost, its settings with their values in force, and a sweep."""
    from simgrid_broker.metrics.chain_words import clause, setting_in_force
    total = sum(other.lost_core_h for other in each.causes)
    part = 100 * cause.lost_core_h / max(total, 1e-9)
    lines = [paragraph(f"{part:.0f} % of what was missing: {clause(cause)}", "  ")]
    for setting in cause.settings:
        value = setting_in_force(run, setting)
        shown = "not set" if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"
        lines.append(f"  {setting}" + ("" if "*" in setting else f": {shown}"))
    return "\n".join([*lines, _sweep(run, cause, each.share)])


def _sweep(run: "Run", cause: "Cause", share: str) -> str:
    """The sweep of a cause, or a sentence that says why there is none."""
    from simgrid_broker.metrics.chain_words import sweep_of, without_sweep
    sweep = sweep_of(run, cause, share)
    return command(f"  {sweep}") if sweep else paragraph(f"  {without_sweep(cause)}", "  ")


def _plain(value):
    """`value` as JSON-compatible types; NaN is null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and value != value else value

"""`gdpconfig`: the keys of gdpconfig, what they mean and what reads them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from simgrid_broker.cli.text import paragraph, table
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.errors import nearest

if TYPE_CHECKING:
    from simgrid_broker.gdpconfig import GdpconfigKey, Match

EXAMPLES = """\b
Examples:
  simgrid-broker gdpconfig
  simgrid-broker gdpconfig jobbroker
  simgrid-broker gdpconfig THROTTLE_THRESHOLD
  simgrid-broker gdpconfig NQUEUELIMIT
  simgrid-broker gdpconfig cap_rt
  simgrid-broker gdpconfig "FAST_REBRO_THRESHOLD_NQUEUE_MC simul"
"""

UNREAD = "(no effect)"
EDITION_WORDS = {("documented", "deployed"): "both", ("documented",): "documented", ("deployed",): "deployed", (): "-"}
"""Word in the table for the editions that read a key."""
LEGEND = (f"edition: in which the key has an effect. {UNREAD}: nothing in the simulator reads it. <...> is a "
          "placeholder and [...] is optional. Set a key with `gdpconfig:` in a scenario, or with --set "
          "gdpconfig.KEY=VALUE.")


def completed(start: str) -> list[str]:
    """Keys and components that begin with `start`, for the shell."""
    from simgrid_broker.gdpconfig import COMPONENTS, REGISTRY
    return [name for name in (*COMPONENTS, *(entry.key for entry in REGISTRY)) if name.startswith(start)]


def gdpconfig(key: Annotated[str | None, typer.Argument(
        metavar="[KEY]", help="A key, component.KEY, or a component; default: all keys.", autocompletion=completed,
        show_default=False)] = None) -> None:
    """Show the keys of gdpconfig.

    Component, default, unit and meaning of every key, in which editions it has an effect, and what reads it.
    """
    from simgrid_broker.gdpconfig import COMPONENTS, REGISTRY
    from simgrid_broker.scenario import find
    key = key and key.removeprefix("gdpconfig.")               # as a scenario names it
    if key is None or key in COMPONENTS:
        typer.echo(listed(entry for entry in REGISTRY if key in (None, entry.component)))
        return
    matches = find(key)
    typer.echo("\n\n".join(described(match) for match in matches) if matches else related(key))


def related(key: str) -> str:
    """Keys whose names contain `key`, or those that the rules of a tag read; raises BadArgument if there are none."""
    from simgrid_broker.cli.describe import rules_tagged
    from simgrid_broker.gdpconfig import REGISTRY
    sections = rules_tagged(key)
    read = {name.partition(" (")[0] for section in sections for what, text in section.rows if what == "keys"
            for name in text.split("; ")}
    entries = [entry for entry in REGISTRY if entry.key in read or not sections and key.upper() in entry.key.upper()]
    said = [f"{section.title}: {text}" for section in sections for what, text in section.rows if what == "does"]
    if not entries and not sections:
        raise unknown(key)
    return "\n\n".join([*map(paragraph, said), listed(entries) if entries else paragraph(
        "No key of gdpconfig changes this rule.")])


def listed(entries: Iterable["GdpconfigKey"]) -> str:
    """Keys as a table, component by component, with a legend."""
    from simgrid_broker.advice import editions_of
    components: dict[str, list[tuple[str, ...]]] = {}
    for entry in entries:
        editions = editions_of(entry)
        meaning = entry.meaning if editions else f"{entry.meaning} {UNREAD}"
        components.setdefault(f"{entry.app} {entry.component}", []).append(
            (entry.key, shown(entry.default), entry.unit, EDITION_WORDS[editions], meaning))
    tables = [table((name, "default", "unit", "edition", "meaning"), rows) for name, rows in components.items()]
    return "\n\n".join([*tables, paragraph(LEGEND)])


def described(match: "Match") -> str:
    """Everything about one key."""
    from simgrid_broker.advice import editions_of
    entry = match.entry
    facts = {"meaning": entry.meaning, "default": f"{shown(entry.default)} {entry.unit}".strip(), "type": entry.type,
             "range": entry.range,
             "zero": described_zero(entry), "effect": entry.effect,
             "here": ", ".join(f"<{name}> = {text}" for name, text in match.members.items()),
             "editions": ", ".join(editions_of(entry)), "source": entry.source, "read by": described_readers(entry)}
    lines = [entry.name if entry.key == match.key else f"{entry.component}.{match.key} (of {entry.name})"]
    return "\n".join(lines + [paragraph(f"  {name:<10}{text}", " " * 12) for name, text in facts.items() if text])


def described_readers(entry: "GdpconfigKey") -> str:
    """Names of the readers of a key, edition by edition where they differ."""
    from simgrid_broker.advice import editions_of, readers
    reading = {edition: ", ".join(readers(edition)[entry]) for edition in editions_of(entry)}
    if len(reading) == 2 and len(set(reading.values())) == 2:
        return "; ".join(f"{edition}: {names}" for edition, names in reading.items())
    return next(iter(reading.values()), "nothing in the simulator, so it has no effect")


def described_zero(entry: "GdpconfigKey") -> str:
    """In which editions a 0 means not set; empty if in none."""
    if len(entry.zero_is_unset) == 1:
        return f"the same as not set in the {entry.zero_is_unset[0]} edition"
    return "the same as not set" if entry.zero_is_unset else ""


def shown(default: object) -> str:
    """A default as a user would write it; a dash if there is none."""
    if default is None:
        return "-"
    return str(default).lower() if isinstance(default, bool) else str(default)


def unknown(key: str) -> BadArgument:
    """The error for a name that is neither a key nor a component, with the nearest names."""
    from simgrid_broker.gdpconfig import COMPONENTS, REGISTRY
    from simgrid_broker.scenario import find
    bare = key.rpartition(".")[2]
    meant = tuple(match.entry.name for match in find(bare)) or nearest(
        key, (*COMPONENTS, *(entry.key for entry in REGISTRY), *(entry.name for entry in REGISTRY)))
    return BadArgument(key, None, "unknown key or component", meant)

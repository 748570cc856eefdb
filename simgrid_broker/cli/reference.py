"""The reference of everything that has a name: keys of a scenario, columns of tables, rules of the brokers."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from simgrid_broker.cli.text import Section, Topic
from simgrid_broker.editions import RELEASES

COLUMN_HEAD = ("name", "type", "unit", "0 means", "source", "meaning")
RULE_HEAD = ("tag", "broker", "editions", "source", "what it does")


def topics() -> dict[str, Topic]:
    """All topics by name; one with several meanings (`queues`) has a section for each."""
    from simgrid_broker.cli import states
    from simgrid_broker.cli.scenario_keys import match_parts, parts, snapshot_parts, study_parts
    from simgrid_broker.schema import WORLD
    by_name: dict[str, list[tuple[str, Callable[[], Section]]]] = {}
    for part in (*parts(), *snapshot_parts(), *match_parts(), *study_parts()):
        by_name.setdefault(part.topic, []).append((part.whole, part.section))
    for name, table in tables().items():
        by_name.setdefault(name, []).append(("recorded", partial(recorded, table)))
    for name, table in WORLD.items():
        by_name.setdefault(name, []).append(("in the world", partial(of_world, table)))
    by_name["rules"] = [("brokers", rules)]
    plain = {name: Topic(name, ", ".join(dict.fromkeys(where for where, _ in each)),
                         partial(_sections, each)) for name, each in by_name.items()}
    return plain | {"states": Topic("states", "of tasks and jobs", states.sections)}


def tables(of_others: bool = True) -> dict[str, Any]:
    """All recorded tables by name: of the schema, and those that agents declare, also of other packages if wanted."""
    from simgrid_broker.agents import AGENTS
    from simgrid_broker.agents.own import GROUP, as_plugins, tables_of
    from simgrid_broker.errors import PluginError
    from simgrid_broker.plugins import load, offered
    from simgrid_broker.schema import RECORDED
    from simgrid_broker.systems.dispatch import DISPATCHERS
    dispatchers = DISPATCHERS.names() if of_others else [name for name, _ in DISPATCHERS.built_in]
    plugins = as_plugins(AGENTS)
    for name in dispatchers:
        with suppress(PluginError):                         # `describe` explains what can be used
            plugins += as_plugins(DISPATCHERS.member(name).agents)
    for name in offered(GROUP) if of_others else ():
        with suppress(PluginError):
            plugins.append(load(GROUP, name))
    declared: dict[str, Any] = {}
    for plugin in plugins:
        with suppress(PluginError):
            declared = tables_of([plugin]) | declared
    return RECORDED | declared


def recorded(table) -> Section:
    """The columns of a recorded table, transition times included."""
    from simgrid_broker.records.layout import TIMES
    rows = [_column_row(column) for column in table.recorded]
    if times := TIMES.get(table.name):
        rows.append((f"{times[0]} ... {times[-1]}", "f8", "s", "zero", "simulator", "When it last entered each status: "
                     + ", ".join(name.removesuffix("_s") for name in times) + "; null = never"))
    return Section(f"{table.name}.parquet", f"Recorded: a row is {table.row}.", COLUMN_HEAD, tuple(rows))


def of_world(table) -> Section:
    """All columns of a table of the running world."""
    return Section(f"{table.name} in the world", f"While a simulation runs: a row is {table.row}.", COLUMN_HEAD,
                   tuple(_column_row(column) for column in table.columns))


def _column_row(column) -> tuple[str, ...]:
    kind = f"{column.dtype}, {column.codes}" if column.codes else column.dtype
    meaning = column.description + ("; no decision may see it" if column.hidden else "")
    return column.name, kind, column.unit, column.zero_means, column.source, meaning


def rules() -> Section:
    """The rules of all brokers in the order in which each edition asks them, those of both editions once."""
    rows = tuple(rule_row(broker, function) for broker, function in broker_rules())
    return Section("rules of the brokers", "Criteria refuse candidates, factors make weights; PanDA logs the tag. "
                   f"`deployed` is release {RELEASES[-1]}.",
                   RULE_HEAD, rows)


def broker_rules() -> Iterator[tuple[str, Callable]]:
    """(broker, rule) of every rule in the chains of the editions, documented before deployed, each once."""
    from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
    from simgrid_broker.policy.brokerage.production.editions import PRODUCTION as JOBS
    from simgrid_broker.policy.brokerage.task.editions import PREASSIGNED
    from simgrid_broker.policy.brokerage.task.editions import PRODUCTION as TASKS
    for broker, brokerages in (("task brokerage", (*TASKS.values(), PREASSIGNED)), ("job brokerage", JOBS.values()),
                               ("analysis brokerage", ANALYSIS.values())):
        chain = [rule for brokerage in brokerages
                 for rule in (*getattr(brokerage, "gate", ()), *brokerage.funnel.criteria)]
        factors = [rule for brokerage in brokerages for rule in brokerage.factors]
        for rule in dict.fromkeys((*chain, *factors)):
            yield broker, rule


def _sections(made: list[tuple[str, Callable[[], Section]]]) -> list[Section]:
    return [make() for _, make in made]


def rule_row(broker: str, function: Any) -> tuple[str, ...]:
    """One rule as a row of RULE_HEAD."""
    rule = function.rule
    tag = getattr(rule, "tag", None) or f"weight: {rule.name}"
    return tag, broker, ", ".join(rule.editions), rule.source, rule.meaning

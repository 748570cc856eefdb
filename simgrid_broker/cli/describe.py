"""`describe`: keys of a scenario, columns of tables, rules of brokers and timeouts, and statuses, from their
definitions."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simgrid_broker.cli.text import Section, Topic, paragraph, table
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.editions import DEPLOYED, RELEASES, edition_of
from simgrid_broker.editions import editions as all_editions
from simgrid_broker.errors import nearest
from simgrid_broker.units import format_seconds

if TYPE_CHECKING:
    from simgrid_broker.policy.rule import RuleFunction

EXAMPLES = """\b
Examples:
  simgrid-broker describe
  simgrid-broker describe scenario
  simgrid-broker describe queues
  simgrid-broker describe rules
  simgrid-broker describe states task
  simgrid-broker describe cap_rt
  simgrid-broker describe workflow
  simgrid-broker describe timeouts deployed
"""


def completed(start: str) -> list[str]:
    """Topics that begin with `start`, for shell completion."""
    return [name for name in topics() if name.startswith(start)]


def describe(topic: Annotated[str | None, typer.Argument(
        metavar="[TOPIC]", help="A part of a scenario, a table, `rules`, `states` or `timeouts`; default: list them.",
        autocompletion=completed, show_default=False)] = None, part: Annotated[str | None, typer.Argument(
        metavar="[PART]", help="Of `states`: task, dataset, file or job; of `timeouts`: an edition; default: all.",
        show_default=False)] = None,
        ) -> None:
    """Describe keys of a scenario, tables, rules and statuses.

    Names, types, units, defaults, sources and meanings, from the definitions that the program uses.
    """
    by_name = topics()
    if topic is None:
        typer.echo(table(("topic", "where"), [(each.name, each.about) for each in by_name.values()]))
        typer.echo("\n" + paragraph("Details: simgrid-broker describe TOPIC. Keys of gdpconfig: simgrid-broker "
                                    "gdpconfig."))
        return
    from simgrid_broker.policy.rule import Criterion
    sections = parts_of(by_name[topic], part) if topic in by_name else looked_up(topic, by_name)
    if not sections:
        raise BadArgument(topic, None, "no topic, rule, status, key or column; `simgrid-broker describe` lists the "
                          f"topics, `simgrid-broker gdpconfig {topic.rpartition('.')[2]}` finds keys of gdpconfig",
                          nearest(topic, (*by_name, *(rule.rule.tag for _, rule, _ in broker_rules()
                                                      if isinstance(rule.rule, Criterion)))))
    for section in sections:
        typer.echo(f"{section.title}\n{paragraph(section.about)}\n")
        typer.echo(table(section.head, section.rows) + "\n")


def looked_up(name: str, by_name: dict[str, Topic]) -> list[Section]:
    """Sections about a name that is no topic: the file of a table, a path in a scenario, a rule by its tag, or else all
    rows with this name, such as a status, a key or a column, of a dotted name those of its topics."""
    for other in (name.removesuffix(".parquet"), name.rpartition(".")[2]):
        if other != name and other in by_name:
            return by_name[other].sections()
    if found := rules_tagged(name):
        return found
    *path, key = name.split(".")
    rows = [(section, [row for row in section.rows if row[0].strip("`") == key])
            for topic in [by_name[each] for each in path if each in by_name] or by_name.values()
            for section in topic.sections()]
    return [replace(section, rows=tuple(mine)) for section, mine in rows if mine]


def rules_tagged(tag: str) -> list[Section]:
    """Sections about the rules of a tag, with or without its dash: what each does, reads and logs."""
    from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
    from simgrid_broker.policy.readings import read_by
    from simgrid_broker.policy.rule import Criterion
    found = []
    for broker, rule, editions in broker_rules():
        about = rule.rule
        if not isinstance(about, Criterion) or about.tag not in (tag, f"-{tag}", f"+{tag}"):
            continue
        edition = editions[-1]
        reads = read_by(rule, edition, PRODUCTION[edition].count if broker == "job brokerage" else None)
        rows = {"does": about.meaning, "keys": "; ".join(map(with_effect, reads["keys"])) or "none",
                **{f"{what}s": ", ".join(reads[what]) for what in ("queue", "storage", "task")},
                "logs": about.says_in(edition), "source": about.source}
        found.append(Section(f"{about.tag} ({about.name})", f"A rule of {broker}, {' and '.join(editions)}; "
                             "keys are of gdpconfig; queues, storages and tasks list the attributes that it reads.",
                             ("what", "is"), tuple((name, text) for name, text in rows.items() if text)))
    return found


def with_effect(key: str) -> str:
    """A key of gdpconfig with the effect of a change."""
    from simgrid_broker.gdpconfig import REGISTRY
    effect = next((entry.effect for entry in REGISTRY if entry.key == key), "")
    return f"{key} ({effect})" if effect else key


def parts_of(topic: Topic, part: str | None) -> list[Section]:
    """The sections of a topic, or of one `part`; raises BadArgument for an unknown part."""
    sections = topic.sections()
    names = list(dict.fromkeys(section.key for section in sections if section.key))
    if part is not None and part not in names:
        expected = f"expected {', '.join(names)}" if names else "this topic has no parts"
        raise BadArgument(f"{topic.name} {part}", None, expected, nearest(part, names))
    return [section for section in sections if part in (None, section.key)]


COLUMN_HEAD = ("name", "type", "unit", "0 means", "source", "meaning")
STATE_HEAD = ("status", "meaning", "moves to", "source")
TIMEOUT_HEAD = ("limit", "since", "status", "jobs", "what the server does")
SINCE = {"entered": "status", "modification": "last heartbeat or change", "created": "creation", "ended": "end",
         "modification or ended": "last change or end", "modification or changed": "last change or stateChangeTime"}
"""Words for the times that limits count from."""
MARKED = {"NOT_JEDI": "jobs not made by JEDI", "NO_RELOCATION_FLAG": "jobs without relocationFlag",
          "NOT_REASSIGNABLE": "jobs of relocationFlag 2", "OUTPUT_REPORT": "jobs whose report of output waits",
          "CHANGED_SINCE": "jobs changed in this status", "MERGES": "merge jobs", "BUILDS": "build jobs",
          "PREMERGE_GONE": "merge jobs without input", "CONSUMES": "consumers of event service",
          "MERGES_EVENTS": "merge jobs of event service"}
"""Words for the marks of jobs."""
RULE_HEAD = ("tag", "broker", "editions", "source", "what it does")


def topics() -> dict[str, Topic]:
    """All topics by name; one with several meanings (`queues`) has a section for each."""
    from simgrid_broker.cli.scenario_keys import match_parts, parts, snapshot_parts, study_parts
    from simgrid_broker.schema.world import WORLD
    by_name: dict[str, list[tuple[str, Callable[[], Section]]]] = {}
    for part in (*parts(), *snapshot_parts(), *match_parts(), *study_parts()):
        by_name.setdefault(part.topic, []).append((part.whole, part.section))
    for name, of_run in tables().items():
        by_name.setdefault(name, []).append(("recorded", partial(recorded, of_run)))
    for name, of_state in WORLD.items():
        by_name.setdefault(name, []).append(("in the world", partial(of_world, of_state)))
    by_name["rules"] = [("brokers", rules)]
    plain = {name: Topic(name, ", ".join(dict.fromkeys(where for where, _ in each)),
                         partial(_sections, each)) for name, each in by_name.items()}
    return plain | {"states": Topic("states", "of tasks and jobs", state_sections),
                    "timeouts": Topic("timeouts", "of jobs", timeout_sections)}


def tables(of_others: bool = True) -> dict[str, Any]:
    """All recorded tables by name: of the schema, and those that agents declare, also of other packages if wanted."""
    from simgrid_broker.agents import AGENTS
    from simgrid_broker.agents.own import as_plugins, tables_of
    from simgrid_broker.errors import PluginError
    from simgrid_broker.plugins import AGENT_GROUP, load, offered
    from simgrid_broker.schema import RECORDED
    from simgrid_broker.systems.dispatch import DISPATCHERS
    from simgrid_broker.systems.events.service import event_service
    dispatchers = DISPATCHERS.names() if of_others else [name for name, _ in DISPATCHERS.built_in]
    plugins = as_plugins((*AGENTS, event_service))
    for name in dispatchers:
        with suppress(PluginError):                         # `describe` explains what can be used
            plugins += as_plugins(DISPATCHERS.member(name).agents)
    for name in offered(AGENT_GROUP) if of_others else ():
        with suppress(PluginError):
            plugins.append(load(AGENT_GROUP, name))
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
    rows = tuple(rule_row(*one) for one in broker_rules())
    return Section("rules of the brokers", "Criteria refuse candidates, factors make weights; PanDA logs the tag. "
                   f"`deployed` is release {RELEASES[-1]}.",
                   RULE_HEAD, rows)


def broker_rules() -> Iterator[tuple[str, "RuleFunction", tuple[str, ...]]]:
    """(broker, rule, editions that have it) of every rule in the chains, documented before deployed, each once."""
    from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
    from simgrid_broker.policy.brokerage.production.editions import PRODUCTION as JOBS
    from simgrid_broker.policy.brokerage.task.editions import PREASSIGNED
    from simgrid_broker.policy.brokerage.task.editions import PRODUCTION as TASKS
    for broker, family in (("task brokerage", TASKS), ("job brokerage", JOBS), ("analysis brokerage", ANALYSIS)):
        others = [(name, PREASSIGNED) for name in family if family is TASKS]
        brokerages: list[tuple[str, Any]] = [*family.items(), *others]
        chain = [(rule, name) for name, brokerage in brokerages
                 for rule in (*getattr(brokerage, "gate", ()), *brokerage.funnel.criteria)]
        chain += [(rule, name) for name, brokerage in brokerages for rule in brokerage.factors]
        for rule in dict.fromkeys(rule for rule, _ in chain):
            yield broker, rule, shortest({name for other, name in chain if other is rule}, tuple(family))


def shortest(names: set[str], family: tuple[str, ...]) -> tuple[str, ...]:
    """Editions of a rule: `deployed` for all releases, else each release by its own name; family: all names."""
    _, *releases = all_editions()
    of_releases = {name for edition in releases for name in edition.names if name in family}
    if of_releases <= names:
        return *(name for name in family if name in names - of_releases), DEPLOYED
    return tuple(edition_of(name).name for name in family if name in names)


def _sections(made: list[tuple[str, Callable[[], Section]]]) -> list[Section]:
    return [make() for _, make in made]


def rule_row(broker: str, function: Any, editions: tuple[str, ...]) -> tuple[str, ...]:
    """One rule as a row of RULE_HEAD."""
    rule = function.rule
    tag = getattr(rule, "tag", None) or f"weight: {rule.name}"
    return tag, broker, ", ".join(editions), rule.source, rule.meaning


def state_sections() -> list[Section]:
    """One section per state machine."""
    from simgrid_broker.world.states import MACHINES
    return [Section(machine.title, f"Statuses of a {machine.title}, their meaning and their successors.", STATE_HEAD,
                    tuple((status.word, meaning, ", ".join(new.word for new in machine.next(status)) or "- (final)",
                           machine.sources(status)) for status, meaning in machine.meaning.items()), machine.title)
            for machine in MACHINES]


def timeout_sections() -> list[Section]:
    """One section per edition with the rules of copyArchive, under the default values of gdpconfig."""
    from simgrid_broker.names import Cause
    from simgrid_broker.policy.jobs.timeouts import TABLES, TimeoutRule, rules
    from simgrid_broker.scenario.gdpconfig import DEFAULTS
    from simgrid_broker.views import Gdpconfig
    found = []
    for edition in TABLES:
        alike: dict[TimeoutRule, list[TimeoutRule]] = {}
        for rule in rules(Gdpconfig(DEFAULTS), edition):
            alike.setdefault(replace(rule, statuses=(), cause=Cause.NONE), []).append(rule)
        found.append(Section(
            f"timeouts in {edition}", "The first rule that applies to a job counts; keys of gdpconfig have their "
            "defaults. `cause` in jobs.parquet is lost_heartbeat for EC_Watcher, timeout_merging for merge jobs "
            "without input, else timeout_ with the status. Jobs before activated are in the defined table, all others "
            "in the active one. Fast and analysis rebrokerage close further jobs (kill codes 10 and 51).", TIMEOUT_HEAD,
            tuple(timeout_row(each) for each in alike.values()), edition))
    return found


def timeout_row(alike: list) -> tuple[str, ...]:
    """Timeout rules that differ only in status and cause as a row of TIMEOUT_HEAD."""
    from simgrid_broker.names import DEFINED_TABLE
    from simgrid_broker.policy.jobs.timeouts import ACTIVE_TABLE
    rule, statuses = alike[0], [status for each in alike for status in each.statuses]
    left, words = set(statuses), list[str]()
    for members, word in ((DEFINED_TABLE, "defined table"), (ACTIVE_TABLE, "active table")):
        if left >= {*members}:
            left, words = left - {*members}, [*words, word]
    words += [status.word for status in statuses if status in left]
    return (format_seconds(rule.limit_s), SINCE[rule.clock], ", ".join(words), concerned(rule),
            consequence(rule, statuses))


def concerned(rule) -> str:
    """Jobs that a timeout rule is about, beyond their status, in words."""
    said = [] if rule.labels == "any" else [rule.labels]
    if rule.priority_at_least is not None:
        said.append(f"priority {rule.priority_at_least} or more")
    if rule.priority_below is not None:
        said.append(f"priority below {rule.priority_below}")
    for word, marks in (("only", rule.only), ("except", rule.spares)):
        said += [f"{word} {', '.join(MARKED[mark.name] for mark in marks)}"] if marks else []
    if rule.idle_queue:
        said.append("queue without a start for 2 h, in test or offline")
    if rule.clock_of_others:
        said.append(f"where one is found, others since {SINCE[rule.clock_of_others]}")
    if rule.workflow is not None:
        said.append(f"queue of workflow {rule.workflow}" if rule.workflow else "workflow without a key")
    if rule.limit_of_queue:
        said.append(f"or {rule.limit_of_queue.removesuffix('_s')} of the queue")
    off = [word for word, is_off in (("paused", rule.off_if_paused), ("disableReassign", rule.off_if_disable_reassign))
           if is_off]
    return "; ".join([*said, *([f"queue not {' or '.join(off)}"] if off else ())]) or "all"


def consequence(rule, statuses: list) -> str:
    """Effect of a timeout rule on a job, with the kill code and the error as the code of PanDA names it."""
    from simgrid_broker.policy.jobs.timeouts import END_ERRORS, KILLS, TO_BE_KILLED, SilentJob, watcher_error
    if rule.action == "fail":
        errors = dict.fromkeys(watcher_error(SilentJob(status, status in END_ERRORS))[0] for status in statuses)
        return f"failed ({', '.join(errors)})"
    if not rule.code:
        return {"close": "closed", "cancel": "cancelled"}[rule.action]
    kill = KILLS[rule.code]
    running = f"; running: {TO_BE_KILLED}" if any(status.word == "running" for status in statuses) else ""
    return f"{kill.status.word} (kill code {rule.code}, {kill.error}){running}"

"""Options that the verbs of studies share, and commands that take a group of options as one value."""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import Field, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from simgrid_broker.cli.loading import Settings
from simgrid_broker.cli.progress import watched
from simgrid_broker.cli.trouble import BadArgument

if TYPE_CHECKING:
    from simgrid_broker.experiments.running import Workers

Figures = Annotated[list[str] | None, typer.Option("--figure", metavar="NAME", help="Figure to show, for example "
                                                   "wait_p50 or shares.Analysis.delivered, instead of the headlines; "
                                                   "repeatable.", show_default=False)]
StudyFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder of the study; finished runs in "
                                                  "it are not repeated.", show_default=False)]


@dataclass(frozen=True)
class RunOn:
    """Options of commands that run points: where, and whether each run gets a report."""

    workers: Annotated[int | None, typer.Option("--workers", min=1, metavar="N", help="Worker processes on this "
                                                "machine; default: one for each core.", show_default=False)] = None
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler to use instead, for example "
                                                  "tls://host:8786; its workers need this package and the folder of "
                                                  "the study. Over tcp:// everybody who reaches its ports can run code "
                                                  "there and in this study as you: only in a network of your own.",
                                          show_default=False)] = None
    reports: Annotated[bool, typer.Option("--reports", help="Write a report for each run.")] = False

    def watched(self) -> "AbstractContextManager[Workers]":
        """Where to run the points, with progress; see `progress.watched`."""
        return watched(self.workers, self.scheduler, self.reports)


@dataclass(frozen=True)
class Instead:
    """Options that win over what a study file says."""

    seeds: Annotated[str | None, typer.Option("--seeds", metavar="SEEDS", help="Seeds of each point, instead of those "
                                              "of the study file: a number, or a range such as 5-9.",
                                              show_default=False)] = None
    settings: Settings = None
    figures: Figures = None

    def of(self, file: Any) -> Any:
        """A study file with these values; raises BadArgument."""
        changes: dict[str, Any] = {}
        if self.seeds is not None:
            changes["seeds"] = seeds_given(self.seeds)
        if self.figures:
            changes["figures"] = tuple(self.figures)
        if self.settings:
            changes["settings"] = {**file.settings, **settings_given(self.settings)}
        return file.model_copy(update=changes)


GROUPS = (RunOn, Instead)
HERE, AS_WRITTEN = RunOn(), Instead()
"""The groups with no option given."""


def grouped_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of one of GROUPS are, on the command line, the options of that group."""
    hints, signature = get_type_hints(command, include_extras=True), inspect.signature(command)
    taken = {name: hints[name] for name in signature.parameters if hints[name] in GROUPS}
    parameters = [each for name, parameter in signature.parameters.items() for each in (
        map(_parameter, fields(taken[name])) if name in taken else [parameter.replace(
            annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)])]

    @wraps(command)
    def called(**given: Any) -> None:
        command(**{name: group(**{field.name: given.pop(field.name) for field in fields(group)})
                   for name, group in taken.items()}, **given)
    vars(called).update(__signature__=inspect.Signature(parameters),
                        __annotations__={one.name: one.annotation for one in parameters})
    return called


def _parameter(field: "Field[Any]") -> inspect.Parameter:
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)


def seeds_given(text: str) -> str:
    """Checked text of the option --seeds; raises BadArgument."""
    from simgrid_broker.experiments.study_file import seeds_of
    try:
        seeds_of(text)
    except ValueError as error:
        raise BadArgument("--seeds", text, str(error)) from None
    return text


def settings_given(texts: list[str]) -> dict[str, Any]:
    """Values of the option --set by dotted key; raises BadArgument."""
    from simgrid_broker.scenario.loading.set_values import from_command_line
    try:
        return {one.key: one.value for one in map(from_command_line, texts)}
    except ValueError as error:
        raise BadArgument("--set", " ".join(texts), str(error)) from None

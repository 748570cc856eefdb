"""The errors that the package raises on purpose, and problems in a user's files. All of them can be pickled."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

MOST_MESSAGES = 10
"""Differences that an error names."""


@dataclass(frozen=True)
class Problem:
    """A problem in an input: its place, the value written, and what was expected.

    file: path as the user gave it, "command line", or None; line: counted from 1, or None; key: dotted path of the
    key; value: what was written, None = nothing to show; nearest: valid names that may have been meant.
    """

    file: str | None
    line: int | None
    key: str
    value: object
    expected: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        file = "" if self.file is None else str(self.file)
        place = f"{file}:{self.line}" if file and self.line is not None else file
        what = self.key if self.value is None else f"{self.key} = {_shown(self.value)}"
        return ": ".join(part for part in (place, what, self.expected + did_you_mean(self.nearest)) if part)


class SimgridBrokerError(Exception):
    """Root of every error that this package raises on purpose."""


class _Problems(SimgridBrokerError):
    """An input that cannot be used; carries every problem found, not only the first."""

    about = "the input"

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"{count} problem{'' if count == 1 else 's'} in {self.about}:"
        return "\n".join([head, *(f"  - {problem}" for problem in self.problems)])


class ScenarioError(_Problems):
    """The scenario cannot be run as written."""

    about = "the scenario"


class SnapshotError(ScenarioError):
    """The brokers cannot be asked about the snapshot as written."""

    about = "the snapshot"


class RequestError(ScenarioError):
    """The description of a resource, or a list of them, cannot be asked as written."""

    about = "the requests"


class StudyError(ScenarioError):
    """The study cannot be run as written."""

    about = "the study"


class InputFileError(_Problems):
    """A file that the scenario or the command line names (a CRIC dump, a trace, a run) cannot be used."""

    about = "the input file"


class OutputError(SimgridBrokerError):
    """Results cannot be written where they should go."""


class PluginError(SimgridBrokerError):
    """A policy or agent of another package is missing, cannot be imported, or is not what it should be."""


class MissingExtra(PluginError):
    """Libraries of an optional extra of this package are not installed."""


class ForbiddenMove(SimgridBrokerError):
    """A job or task was moved to a status that its current one does not allow: an error of the program."""


class OutOfRows(SimgridBrokerError):
    """Compiled code took more rows of a table than were made free for it: an error of the program."""


class InvariantBroken(SimgridBrokerError):
    """The tables contradict themselves: an error of the program; carries one message for each broken invariant."""

    def __init__(self, messages: Iterable[str]):
        self.messages = tuple(messages)
        super().__init__(self.messages)

    def __str__(self) -> str:
        return "\n".join(["the tables contradict themselves:", *(f"  - {message}" for message in self.messages)])


class DecisionsDiffer(SimgridBrokerError):
    """A decision of a run and the dry run of its state differ: an error of the program; carries the snapshot."""

    def __init__(self, decision: str, messages: Iterable[str], snapshot: dict | None = None):
        self.decision, self.messages, self.snapshot = decision, tuple(messages), snapshot
        super().__init__(self.decision, self.messages, self.snapshot)

    def __str__(self) -> str:
        more = len(self.messages) - MOST_MESSAGES
        lines = [f"{self.decision}: the dry run of the same state decides otherwise",
                 *(f"  - {message}" for message in self.messages[:MOST_MESSAGES])]
        return "\n".join(lines + [f"  and {more} candidates more"] * (more > 0))


def nearest(word: str, known: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """At most `n` of the names in `known` closest to `word`, best first, case ignored."""
    by_folded = {name.casefold(): name for name in known}
    return tuple(by_folded[match] for match in get_close_matches(str(word).casefold(), by_folded, n))


def did_you_mean(names: Sequence[str]) -> str:
    """The end of a message that names what may have been meant."""
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


def wrong_type(what: str, expected: str, given: object) -> TypeError:
    """The error of an argument that a function of the package does not take: one line that says what it takes."""
    kind = type(given).__name__
    shown = "" if given is None or isinstance(given, type) or "\n" in repr(given) else f" ({_shown(given)})"
    article = "an" if kind[0] in "aeiouAEIO" else "a"
    return TypeError(f"{what}: expected {expected}, not {'nothing' if given is None else f'{article} {kind}'}{shown}")


def first_three(names: Sequence[str]) -> str:
    """The first three names, and dots if there are more."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _shown(value: object, longest: int = 60) -> str:
    """`value` on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= longest else text[: longest - 3] + "..."


@contextmanager
def extras_named() -> Iterator[None]:
    """Within, a library that cannot be imported is named with the extra of this package that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        extra = _smallest_with(library)
        if extra is None:
            raise
        raise MissingExtra(f"{library} is not installed; it comes with the extra {extra!r}: pip install "
                           f"'simgrid_broker[{extra}]', in a checkout pip install -e '.[{extra}]'") from None


def _smallest_with(library: str) -> str | None:
    """The extra of the fewest libraries that has one: extras made of others list theirs too."""
    needs = [(need["name"], need["extra"]) for need in _optional()]
    having = (extra for name, extra in needs if _same_name(name, library))
    return min(having, key=lambda extra: sum(other == extra for _, other in needs), default=None)


def _same_name(package: str, library: str) -> bool:
    """True if a package has the name of a library, of which the import has no hyphens."""
    return package.lower().replace("-", "_") == library.lower()


def _optional() -> Iterator[re.Match]:
    """Libraries of the extras of this package: `name` and `extra` of each; none if it runs without being installed."""
    pattern = re.compile(r"""(?P<name>[\w-]+)[^;]*; extra == ["'](?P<extra>\w+)["']""")
    installed = import_module("importlib.metadata")
    try:
        needs = installed.requires("simgrid_broker") or ()
    except installed.PackageNotFoundError:
        needs = ()
    return (need for text in needs if (need := pattern.match(text)))

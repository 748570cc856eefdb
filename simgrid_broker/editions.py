"""Editions of the rules: the documentation's, and that of each release of PanDA's production code.

An edition is asked for by its name: `documented`, `deployed-1.0.3`, or `deployed`, the newest release. A family of
rules keeps one record for each edition in which it differs (`ByEdition`), so that another release costs its number in
`RELEASES`, its name in `Name`, and a record in each family of rules that it changes. A name is kept as it was given.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from simgrid_broker.errors import did_you_mean, nearest
from simgrid_broker.names import EDITIONS

DOCUMENTED, DEPLOYED = EDITIONS

RELEASES = ("1.0.3", "1.0.4")
"""Releases of the production code that are known, the oldest first."""

Name = Literal["documented", "deployed", "deployed-1.0.3", "deployed-1.0.4"]
"""Names under which an edition may be asked for."""

T = TypeVar("T")


@dataclass(frozen=True)
class Edition:
    """An edition of the rules: its family, and the release of the production code that it follows, "" = none."""

    family: str
    release: str = ""

    @property
    def name(self) -> str:
        """The name that means this edition for ever, such as `deployed-1.0.3`."""
        return f"{self.family}-{self.release}" if self.release else self.family

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the edition, the one in use first: the newest release has the name of its family as well."""
        return (self.family, self.name) if self.release == RELEASES[-1] else (self.name,)


def editions() -> tuple[Edition, ...]:
    """All editions: the documented one, then the releases, the oldest first."""
    return (Edition(DOCUMENTED), *(Edition(DEPLOYED, release) for release in RELEASES))


def edition_of(name: str) -> Edition:
    """The edition that a name means; raises ValueError with the nearest names if there is none."""
    by_name = {alias: edition for edition in editions() for alias in edition.names}
    if name not in by_name:
        raise ValueError(f"there is no edition {name!r}{did_you_mean(nearest(name, by_name))}")
    return by_name[name]


def family_of(name: str) -> str:
    """The family of the edition that a name means."""
    return edition_of(name).family


def record_of(records: Mapping[str, T], name: str) -> T:
    """The record of an edition; where there is none of a release, that of its family."""
    return records[name] if name in records else records[family_of(name)]


class ByEdition(Mapping[str, T]):
    """Records of one family of rules by the name of the edition; two are equal if they are the same object.

    documented, deployed: records of the documented edition and of the oldest release; later: those of other releases,
    by number; a release without a record has that of the one before it. Iteration goes over the names in use, and over
    those of older releases only if their record is not the newest.
    """

    def __init__(self, documented: T, deployed: T, later: Mapping[str, T] | None = None):
        self._records = {DOCUMENTED: documented}
        for edition in editions()[1:]:
            deployed = (later or {}).get(edition.release, deployed)
            self._records |= dict.fromkeys(edition.names, deployed)

    def __getitem__(self, name: str) -> T:
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, record in self._records.items()
                if name in EDITIONS or record is not self._records[DEPLOYED])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"ByEdition({dict(self)})"

    __eq__, __hash__ = object.__eq__, object.__hash__

"""What a whole file describes: a part that knows where each of its values was written and can be changed by key.

What lives here: `Whole`. What does not: the two things that a file can describe (`model.Scenario`, `snapshot.Snapshot`)
and making one out of files (`loader`, `resolve`).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario.origin import CRIC, DEFAULT, SYNTHETIC, Origin
from simgrid_broker.scenario.part import Part


class Whole(Part):
    """Everything that one file, with those that it extends, describes; `error` is raised if it cannot be used."""

    error: ClassVar[type[ScenarioError]] = ScenarioError

    _origins: Mapping[str, Origin] = PrivateAttr(default_factory=dict)
    _draft: Any = PrivateAttr(None)
    _remarks: tuple[str, ...] = PrivateAttr(())

    def __eq__(self, other: object) -> bool:
        """Two of a kind are equal if all their values are, wherever those come from."""
        return type(other) is type(self) and self.__dict__ == other.__dict__

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Origin of each key that was written, by dotted key (`grid.queues.CERN.corecount`, `shares[0].value`)."""
        return self._origins

    @property
    def import_remarks(self) -> tuple[str, ...]:
        """What an import of the grid could not use."""
        return self._remarks

    def origin(self, key: str) -> Origin:
        """Origin of the value of a dotted key; what stands in an imported or made-up entry has the entry's origin."""
        around = key
        while around not in self._origins and around:
            around = around[:max(around.rfind("."), around.rfind("["), 0)]
        found = self._origins.get(around, DEFAULT)
        return found if around == key or found.kind in (SYNTHETIC, CRIC) else DEFAULT

    def with_values(self, values: Mapping[str, object]) -> Self:
        """A new one with values set by dotted key, checked as a whole; None brings a default back.

        What the grid is made of is kept, so `{"grid.synthetic.sites": 20}` makes a new grid. Raises ScenarioError.
        """
        from simgrid_broker.scenario import resolve  # here, because resolving needs the classes made of this one
        return resolve.changed(self, values)

    def with_config(self, values: Mapping[str, object]) -> Self:
        """A new one with gdpconfig keys set, by `KEY` or `component.KEY`. Raises ScenarioError."""
        return self.with_values({f"gdpconfig.{key}": value for key, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """All values, defaults included, in kinds that JSON has; `from_dict` reads them back."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; files it was made of are not needed. Raises ScenarioError."""
        from simgrid_broker.scenario import resolve  # here, because resolving needs the classes made of this one
        return resolve.written_out(values, cls)

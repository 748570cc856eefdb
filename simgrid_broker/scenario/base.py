"""Base of the models that one file describes with those it extends: scenario and snapshot."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario.locate import CRIC, DEFAULT, SYNTHETIC, Draft, Origin
from simgrid_broker.schema.part import Part


class Whole(Part):
    """Base of `Scenario` and `Snapshot`: everything that one file, with those it extends, describes."""

    error: ClassVar[type[ScenarioError]] = ScenarioError
    changed: ClassVar[Any]
    """`set_values`' implementation of `with_values`, set by `loader`, which imports the models."""
    rebuilt: ClassVar[Any]
    """The implementation of `from_dict`, set by `loader`."""

    _origins: Mapping[str, Origin] = PrivateAttr(default_factory=dict)
    _draft: Draft | None = PrivateAttr(None)
    _remarks: tuple[str, ...] = PrivateAttr(())

    def __eq__(self, other: object) -> bool:
        """Two of a kind are equal if all their values are, whatever the origins of those."""
        return type(other) is type(self) and self.__dict__ == other.__dict__

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Origin of each key that was written, by dotted key (`grid.queues.CERN.corecount`, `shares[0].value`)."""
        return self._origins

    @property
    def import_remarks(self) -> tuple[str, ...]:
        """Remarks on what an import of the grid could not use."""
        return self._remarks

    def origin(self, key: str) -> Origin:
        """Origin of the value of a dotted key; values inside an imported or generated entry have the entry's origin."""
        around = key
        while around not in self._origins and around:
            around = around[:max(around.rfind("."), around.rfind("["), 0)]
        found = self._origins.get(around, DEFAULT)
        return found if around == key or found.kind in (SYNTHETIC, CRIC) else DEFAULT

    def with_values(self, values: Mapping[str, object]) -> Self:
        """A copy with values set by dotted key, validated as a whole; None restores a default.

        The sources of the grid are kept, so `{"grid.synthetic.sites": 20}` generates a new grid. Raises ScenarioError.
        """
        return self.changed(values)

    def with_config(self, values: Mapping[str, object]) -> Self:
        """A copy with gdpconfig keys set, by `KEY` or `component.KEY`. Raises ScenarioError."""
        return self.with_values({f"gdpconfig.{key}": value for key, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """All values, defaults included, as JSON-compatible types; `from_dict` reads them back."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model that `to_dict` wrote; source files of the grid are not needed. Raises ScenarioError."""
        return cls.rebuilt(values)

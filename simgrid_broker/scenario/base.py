"""Base models of scenarios, snapshots and their parts, and the number types that accept a value with its unit."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator

from simgrid_broker import units
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario.locate import CRIC, DEFAULT, SYNTHETIC, Draft, Origin

Seconds = Annotated[float, BeforeValidator(units.seconds)]
Minutes = Annotated[float, BeforeValidator(units.minutes)]
Bytes = Annotated[float, BeforeValidator(units.bytes_)]
Megabytes = Annotated[float, BeforeValidator(units.megabytes)]
Rate = Annotated[float, BeforeValidator(units.bytes_per_second)]
Fraction = Annotated[float, BeforeValidator(units.fraction), Field(ge=0, le=1)]

MOST_CORES_OF_JOB = 2**15 - 1
"""Most cores of one job or slot; the tables of the world count them in two bytes."""
MOST_CORES = 20_000_000
"""Most cores of all batch systems together: the tables of their jobs take some gigabytes."""
LARGEST_WHOLE, LARGEST_SEED, LARGEST = 2**31 - 1, 2**63 - 1, 1e30
"""Largest whole number, seed and other number that the tables of the world can hold."""
LATEST = 1e12
"""Latest time, s: agents tell times apart by thousandths of a second."""


class Part(BaseModel):
    """Base of every part of a scenario: frozen; unknown keys, infinity, NaN and out-of-range numbers are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def not_too_large(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse numbers that no table can hold."""
        if isinstance(value, int):
            largest = LARGEST_SEED if info.field_name == "seed" else LARGEST_WHOLE
            if abs(value) > largest:
                raise ValueError(f"expected a whole number between -{largest} and {largest}")
        elif isinstance(value, float) and abs(value) > LARGEST:
            raise ValueError(f"expected a number between -{LARGEST:g} and {LARGEST:g}")
        return value


class Whole(Part):
    """Base of `Scenario` and `Snapshot`: everything that one file, with those it extends, describes."""

    error: ClassVar[type[ScenarioError]] = ScenarioError
    changed: ClassVar[Callable]
    """`set_values`' implementation of `with_values`, set by `loader`, which imports the models."""
    rebuilt: ClassVar[Callable]
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
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model that `to_dict` wrote; source files of the grid are not needed. Raises ScenarioError."""
        return cls.rebuilt(values)

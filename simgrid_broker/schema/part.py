"""The base model of every part of a scenario, number types that accept a value with its unit, and constraints of rows.

A constraint is an annotation of the type of a key, as in `drives: Annotated[int | None, Needs("tape")]`; it says which
things the key names, which keys it needs, its limits and its edition. One check of scenarios and snapshots
(`scenario.checks.rows`) goes over all of them.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from simgrid_broker import units
from simgrid_broker.errors import nearest

Seconds = Annotated[float, BeforeValidator(units.seconds)]
Minutes = Annotated[float, BeforeValidator(units.minutes)]
Bytes = Annotated[float, BeforeValidator(units.bytes_)]
Megabytes = Annotated[float, BeforeValidator(units.megabytes)]
Rate = Annotated[float, BeforeValidator(units.bytes_per_second)]
Fraction = Annotated[float, BeforeValidator(units.fraction), Field(ge=0, le=1)]
Sample = Annotated[bool | float, BeforeValidator(units.sample), Field(ge=0, le=1)]

MOST_CORES_OF_JOB = 2**15 - 1
"""Most cores of one job or slot; the tables of the world count them in two bytes."""
MOST_CORES = 20_000_000
"""Most cores of all batch systems together: the tables of their jobs take some gigabytes."""
LARGEST_WHOLE, LARGEST_KEY, LARGEST = 2**31 - 1, 2**63 - 1, 1e30
"""Largest whole number, key of random draws, and other number that the tables of the world can hold."""
HOURS = 24
"""Hours of a day, which a profile repeats."""
LATEST = 1e12
"""Latest time, s: agents distinguish times by thousandths of a second."""


DEPRECATED = frozenset(name for name, value in vars(BaseModel).items() if hasattr(value, "__deprecated__") or hasattr(
    getattr(value, "__func__", None), "__deprecated__"))
"""Names of pydantic's first version, which still exist."""


class Part(BaseModel):
    """Base of every part of a scenario: frozen; unknown keys, infinity, NaN and out-of-range numbers are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    def __dir__(self) -> list[str]:
        """Names that a session completes: without the deprecated ones of pydantic."""
        return [name for name in super().__dir__() if name not in DEPRECATED]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Called by pydantic for what it validates: each given value is checked last by `_not_too_large`.

        One validator of all fields, `field_validator("*")`, would do the same: pydantic would inspect it for each.
        """
        schema = handler(source)
        fields: Any = handler.resolve_ref_schema(schema)
        while fields["type"] != "model-fields":
            fields = fields["schema"]
        for name, field in fields["fields"].items():
            place = field if field["schema"]["type"] != "default" else field["schema"]
            check = _not_too_large_key if name in KEYS else _not_too_large
            place["schema"] = no_info_after_validator_function(check, place["schema"])
        return schema


KEYS = ("seed", "luck")
"""Fields that are keys of random draws."""


def _not_too_large(value: Any, largest: int = LARGEST_WHOLE) -> Any:
    """Refuse numbers that no table can hold."""
    if isinstance(value, int):
        if abs(value) > largest:
            raise _too_large(value, largest, f"expected a whole number between -{largest} and {largest}")
    elif isinstance(value, float) and abs(value) > LARGEST:
        raise _too_large(value, LARGEST, f"expected a number between -{LARGEST:g} and {LARGEST:g}")
    return value


_not_too_large_key = partial(_not_too_large, largest=LARGEST_KEY)


def _too_large(value: float, largest: float, text: str) -> PydanticCustomError:
    """The error of a number beyond the largest, as one of a limit."""
    if value > 0:
        return PydanticCustomError("less_than_equal", text, dict(le=largest))
    return PydanticCustomError("greater_than_equal", text, dict(ge=-largest))


def fields_by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Fields of a part by the keys under which they are written; a key that is a word of Python is an alias."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


MEANT = {
    "site": ("atlas_site", "site"), "cores": ("corecount", "cores", "offered_cores"), "time": ("maxtime", "duration"),
    "size": ("jobs_per_task", "input_per_job", "output_per_job", "total"), "jobs": ("jobs_per_task",),
    "memory": ("memory_per_core", "maxrss", "memory"), "tasks": ("tasks_per_day", "tasks_per_period"),
    "events": ("events_per_job",), "walltime": ("maxtime", "hs06sec_per_event"), "power": ("corepower",),
    "input": ("input_per_job", "input_per_event"), "output": ("output_per_job", "output_per_event"),
    "disk": ("maxwdir", "total"), "space": ("total", "free"), "load": ("offered_cores",),
    "hs06": ("corepower", "hs06sec_per_event"), "type": ("processingtype", "what"), "share": ("gshare",),
    "periods": ("agents",)}
"""Keys that people mean by plain words; those that a part has are named first."""


def keys_meant(word: str, model: type[BaseModel]) -> tuple[str, ...]:
    """At most three keys of a part that a word may mean: by what it says, by spelling, and with it as one of its words.
    """
    keys, plain = fields_by_key(model), word.casefold()
    by_meaning = [key for key in MEANT.get(plain, ()) if key in keys]
    with_word = [key for key in keys if plain in key.casefold().split("_")]
    return tuple(dict.fromkeys([*by_meaning, *nearest(word, keys), *with_word]))[:3]


Answer = Literal["refuse", "remark"]
"""Answers to a value that breaks a constraint: it is refused, or remarked and read as PanDA reads it."""


class Constraint:
    """Base of all constraints, each with the answer to a value that breaks it."""

    answer: Answer


@dataclass(frozen=True)
class Refers(Constraint):
    """A text that names a thing of a kind (`checks.rows.THINGS`); expected: said of a missing one, beside its name.

    patterns: a text with `*` names all things that fit.
    """

    to: str
    answer: Answer = "refuse"
    expected: str = ""
    patterns: bool = False


@dataclass(frozen=True)
class Needs(Constraint):
    """A key without effect unless another key of the same part has a value; why: reason, behind the message."""

    key: str
    why: str = ""
    answer: Answer = "refuse"


@dataclass(frozen=True)
class AtMost(Constraint):
    """A number that must not exceed that of another key of the same part, where both are given."""

    key: str
    answer: Answer = "refuse"


@dataclass(frozen=True)
class ActsIn(Constraint):
    """A key that only one edition reads."""

    edition: str
    answer: Answer = "remark"


SiteName = Annotated[str, Refers("site")]
QueueName = Annotated[str, Refers("queue")]
BackboneName = Annotated[str, Refers("backbone")]
RegionName = Annotated[str, Refers("region", expected="no site has this region")]
StorageName = Annotated[str, Refers("storage")]
EndpointName = Annotated[str, Refers("DDM endpoint")]
ObjectStoreName = Annotated[str, Refers("object store", expected="no storage with type OS_ES has this name")]
ShareName = Annotated[str, Refers("share")]
LeafName = Annotated[str, Refers("leaf share")]
ResourceTypeName = Annotated[str, Refers("resource type")]
DatasetName = Annotated[str, Refers("dataset")]
ContainerName = Annotated[str, Refers("container of datasets")]
CampaignName = Annotated[str, Refers("campaign")]
WorkQueueName = Annotated[str, Refers("work queue with criteria")]
PartitionName = Annotated[str, Refers("partition")]
OwnerName = Annotated[str, Refers("user or working group", patterns=True)]
PandaResourceType = Annotated[str, Refers("resource type of PanDA", expected="PanDA has no such resource type")]

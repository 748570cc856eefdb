"""What every part of a scenario is made of: the base model and the number types that accept a value with its unit.

What lives here: `Part` and the annotated types. What does not: any actual part (`model`, `campaigns`).
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from simgrid_broker import units

Seconds = Annotated[float, BeforeValidator(units.seconds)]
Minutes = Annotated[float, BeforeValidator(units.minutes)]
Bytes = Annotated[float, BeforeValidator(units.bytes_)]
Megabytes = Annotated[float, BeforeValidator(units.megabytes)]
Rate = Annotated[float, BeforeValidator(units.bytes_per_second)]
Fraction = Annotated[float, BeforeValidator(units.fraction), Field(ge=0, le=1)]


class Part(BaseModel):
    """Base of every part of a scenario: frozen; unknown keys, infinity and NaN are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

"""Log-normal quantities that differ from task to task."""

from math import exp, log
from statistics import NormalDist
from typing import Any

from pydantic import Field, model_validator

from simgrid_broker.schema.part import Bytes, Fraction, Megabytes, Part


class Spread(Part):
    """A log-normal quantity; a bare number is a quantity without spread. Draws above `max` become `max`."""

    median: float = Field(ge=0, description="Median")
    sigma: float = Field(0, ge=0, le=5, description="Standard deviation of the natural logarithm")
    max: float | None = Field(None, gt=0, description="Largest value; None = open")

    @model_validator(mode="before")
    @classmethod
    def bare_number(cls, value: Any) -> Any:
        """Read `3878` as `{median: 3878}`."""
        return value if isinstance(value, (dict, Spread)) else {"median": value}

    @property
    def mean(self) -> float:
        """Mean of the quantity, the limit `max` included."""
        if self.median == 0 or self.sigma == 0:
            return self.median if self.max is None else min(self.median, self.max)
        whole = self.median * exp(self.sigma**2 / 2)
        if self.max is None:
            return whole
        limit = log(self.max / self.median) / self.sigma
        normal = NormalDist()
        return whole * normal.cdf(limit - self.sigma) + self.max * normal.cdf(-limit)


MOST_THINGS = 10_000_000
"""Largest number that is drawn of jobs or files of a task."""


class NumberSpread(Spread):
    """A log-normal whole number, at least 1; draws above ten million become ten million."""

    median: float = Field(ge=1, le=MOST_THINGS, description="Median")
    max: float | None = Field(None, ge=1, le=MOST_THINGS, description="Largest value; None = open")


class BytesSpread(Spread):
    """A log-normal size, bytes."""

    median: Bytes = Field(ge=0, description="Median, bytes")
    max: Bytes | None = Field(None, gt=0, description="Largest value, bytes; None = open")


class MegabytesSpread(Spread):
    """A log-normal amount of memory, MB."""

    median: Megabytes = Field(ge=0, description="Median, MB")
    max: Megabytes | None = Field(None, gt=0, description="Largest value, MB; None = open")


class FractionSpread(Spread):
    """A log-normal fraction, never above 1."""

    median: Fraction = Field(description="Median")
    max: Fraction | None = Field(1, gt=0, description="Largest value")

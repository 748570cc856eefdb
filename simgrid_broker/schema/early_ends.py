"""Slots that the batch system of a PanDA queue takes away with their payload: windows, and mistakes in what is said."""

from typing import Any, Self

from pydantic import Field, model_validator

from simgrid_broker.schema.part import HOURS, LATEST, Part, Seconds


class Window(Part):
    """The time in which a batch system lends its slots: a part of each period, or once."""

    begins: Seconds = Field(0, ge=0, le=LATEST, description="When it opens first, s from the start of the run")
    lasts: Seconds = Field(gt=0, le=LATEST, description="How long it stays open; all its slots are taken away then")
    every: Seconds | None = Field(None, ge=60, le=LATEST, description="Period in which it opens again; default: it "
                                  "opens once")

    @model_validator(mode="after")
    def closes(self) -> Self:
        """Refuse a window that opens before it has closed."""
        if self.every is not None and self.lasts >= self.every:
            raise ValueError(f"lasts {self.lasts:.15g} s, which must be below `every`, {self.every:.15g} s")
        return self


def mistake_of(queue: Any) -> str:
    """The first mistake in the keys of a queue about slots that are taken away, "" = none."""
    factors, window = queue.eviction_by_hour, queue.window
    if len(factors) not in (0, HOURS):
        return f"eviction_by_hour has {len(factors)} numbers, not one for each hour of the day, {HOURS}"
    if factors and not (queue.eviction_rate and any(factors)):
        return "eviction_by_hour needs an eviction_rate, and one number above 0"
    if queue.slot_life_spread and queue.slot_life is None:
        return "slot_life_spread needs slot_life"
    if window is not None and queue.cores is None:
        return "a window needs `cores`: those of the queue's own batch system, which closes"
    if window is not None and window.lasts <= (queue.eviction_notice or 0):
        return "eviction_notice is as long as the window: no payload would run"
    return ""

"""Harvester's throttler: whether a queue gets no workers because too many could not be submitted.

Source: lifecycle reference, section 5.4; Harvester, plug-in SimpleThrottler.
"""

from collections.abc import Sequence


def is_throttled(missed: Sequence[int], most: Sequence[int], all_rules: bool) -> bool:
    """Whether the missed workers that each rule counts exceed what it allows; all_rules: one is not enough."""
    met = [number > limit for number, limit in zip(missed, most, strict=True)]
    return all(met) if all_rules else any(met)

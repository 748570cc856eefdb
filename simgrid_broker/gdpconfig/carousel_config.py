"""DATA_CAROUSEL_CONFIG, version 1, with PanDA's fields and defaults.

Source: lifecycle reference, 7.5; panda-server, DataCarousel.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

DESTINATION = "type=DATADISK&datapolicynucleus=True&freespace>300"
"""Where data is staged to if the configuration of its tape says nothing else; free space in TB."""


class TapeConfig(NamedTuple):
    """Entry of DATA_CAROUSEL_CONFIG for a physical tape; max_staging_ratio is not read, as in PanDA."""

    active: bool = False
    max_size: int = 10_000
    max_staging_ratio: int = 50
    destination_expression: str = DESTINATION


class RseConfig(NamedTuple):
    """Entry for an endpoint: only its physical tape and whether it is a source are read."""

    tape: str
    active: bool | None = None
    max_size: int | None = None
    max_staging_ratio: int | None = None


class Config(NamedTuple):
    """DATA_CAROUSEL_CONFIG as it is read; early_access_users has no effect in PanDA either."""

    tapes: Mapping[str, TapeConfig] = {}
    rses: Mapping[str, RseConfig] = {}
    excluded_destinations: frozenset[str] = frozenset()

    def tape_of(self, rse: str) -> str:
        """Physical tape of an endpoint, which has a tape of its own name if nothing is said."""
        return self.rses[rse].tape if rse in self.rses else rse

    def is_active(self, rse: str) -> bool:
        """True if data is staged from an endpoint: its tape is active, and it is not switched off itself."""
        tape = self.tapes.get(self.tape_of(rse))
        return tape is not None and tape.active and not (rse in self.rses and self.rses[rse].active is False)


def config_from(said: Mapping[str, Any]) -> Config:
    """The configuration as JSON gives it."""
    return Config({name: TapeConfig(**one) for name, one in said.get("source_tapes_config", {}).items()},
                  {name: RseConfig(**one) for name, one in said.get("source_rses_config", {}).items()},
                  frozenset(said.get("excluded_destinations", ())))

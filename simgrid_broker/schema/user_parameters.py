"""Parameters that only tasks of users have: what analysis brokerage reads, and their build step.

A task has them as one word: their JSON.
"""

from typing import Self

from pydantic import Field, field_validator, model_validator

from simgrid_broker.schema.constraint import StorageName
from simgrid_broker.schema.part import Fraction, Megabytes, Part


class BrokerParameters(Part):
    """Parameters of a task of a user for analysis brokerage, in PanDA's names."""

    includedSite: tuple[str, ...] | None = Field(None, description="PanDA queues to which the task goes, `*` is any "
                                                 "text, AUTO lets others in if none is left; default: all")
    excludedSite: tuple[str, ...] = Field((), description="PanDA queues to which it does not go, `*` is any text")
    siteEndpoint: StorageName | None = Field(None, description="DDM endpoint given as `site`: the task goes to the "
                                             "queues that read it")
    transUses: str | None = Field(None, description="Release that the user's software builds on; default: not said")
    cloud: str = Field("", description="Cloud of the queues; empty or any = every cloud")
    avoidVP: bool = Field(False, description="Whether jobs avoid queues of virtual placement")
    nSitesPerJob: int = Field(1, ge=1, description="PanDA queues that get a clone of each job")
    allowIncompleteInDS: bool = Field(False, description="Whether the input may be incomplete")

    @field_validator("includedSite", "excludedSite")
    @classmethod
    def patterns_are_named(cls, patterns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Refuse an empty pattern, which matches nothing."""
        if any(not pattern for pattern in patterns or ()):
            raise ValueError("expected names of PanDA queues, in which * is any text")
        return patterns

    def word(self) -> str:
        """The parameters that differ from the default, as JSON; empty if none does."""
        mine = {name: getattr(self, name) for name, field in UserParameters.model_fields.items()
                if getattr(self, name, field.default) != field.default}
        return UserParameters(**mine).model_dump_json(exclude_defaults=True) if mine else ""


class UserParameters(BrokerParameters):
    """Parameters of a task of a user, and what is true of its build jobs."""

    buildSpec: bool = Field(False, description="Whether a build job makes a library of the user's software at each "
                            "site first, for which the jobs there wait")
    build_hs06sec: float = Field(4000, ge=0, description="True wall time x cores x HS06 of a build job; the default is "
                                 "an assumption")
    build_memory: Megabytes = Field(1000, gt=0, description="True memory of build jobs, MB")
    build_failure_rate: Fraction = Field(0, description="Payload failures of build jobs")

    @model_validator(mode="after")
    def parts_of_building(self) -> Self:
        """Refuse figures of build jobs where nothing is built."""
        given = [name for name, field in UserParameters.model_fields.items()
                 if name.startswith("build_") and getattr(self, name) != field.default]
        if given and not self.buildSpec:
            raise ValueError(f"{', '.join(given)}: build jobs need buildSpec: true")
        return self

    @classmethod
    def of_word(cls, word: str) -> Self:
        """The parameters behind a word."""
        return cls.model_validate_json(word) if word else cls()


def builds_library(word: str) -> bool:
    """Whether the task of a word has a build step."""
    return UserParameters.of_word(word).buildSpec


def changed(word: str, sites: dict[str, tuple[str, ...]]) -> str:
    """The word of a task whose lists of queues, by key, have been replaced."""
    return UserParameters.of_word(word).model_copy(update=sites).word()

"""Parameters of a task that only analysis brokerage reads, which a task has as one word: their JSON."""

from pydantic import Field, field_validator

from simgrid_broker.schema.named import StorageName
from simgrid_broker.schema.part import Part


class UserParameters(Part):
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
                if getattr(self, name) != field.default}
        return UserParameters(**mine).model_dump_json(exclude_defaults=True) if mine else ""

    @classmethod
    def of_word(cls, word: str) -> "UserParameters":
        """The parameters behind a word."""
        return cls.model_validate_json(word) if word else cls()


def changed(word: str, sites: dict[str, tuple[str, ...]]) -> str:
    """The word of a task whose lists of queues, by key, have been replaced."""
    return UserParameters.of_word(word).model_copy(update=sites).word()

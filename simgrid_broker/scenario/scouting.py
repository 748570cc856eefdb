"""What a stream of tasks says of its scouts.

What lives here: the keys. What does not: what scouts do (policy, agents).
"""

from pydantic import Field, model_validator

from simgrid_broker.scenario.part import Part


class ScoutRule(Part):
    """Task parameters of scouts, in PanDA's names."""

    useScout: bool = Field(False, description="Ten scouts measure the tasks first: what they find replaces the claims, "
                           "or exhausts or breaks the task; without them a task claims what the stream says for good")
    skipScout: bool = Field(False, description="No scouts after all; of analysis only tasks with a working group may")
    scoutSuccessRate: int | None = Field(None, ge=0, le=10, description="Tenths of the scouts that must succeed; "
                                         "default: one of them, in the edition deployed 5")
    minCpuEfficiency: float = Field(0, ge=0, le=100, description="Median CPU efficiency of the scouts, %, below which "
                                    "the edition deployed exhausts a task; 0 = none")

    @model_validator(mode="after")
    def scouts_are_used(self) -> "ScoutRule":
        """Refuse parameters of scouts where there are none."""
        if not self.useScout and (self.skipScout or self.scoutSuccessRate is not None or self.minCpuEfficiency):
            raise ValueError("skipScout, scoutSuccessRate and minCpuEfficiency need useScout: true")
        return self

"""Event service of the tasks of a stream, as a user writes it; source: lifecycle reference, 6.1."""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, model_validator

from simgrid_broker.editions import ByEdition
from simgrid_broker.schema.part import Part

CONVERTS = ByEdition(documented=False, deployed=True)
"""Editions in which tasks of production are converted to event service."""
OF_CLONING = ("useJobCloning", "nSitesPerJob")
"""Parameters of a task whose jobs are cloned; all others are about consumers."""


class EventRule(Part):
    """Event service of a task with eventService, in PanDA's task parameters; all of nEventsPerWorker, or of cloning."""

    nEventsPerWorker: int = Field(0, ge=0, le=10**6, description="Events of a range: consumers fetch, process "
                                  "and report ranges one after the other; 0 = jobs are ordinary ones")
    useJobCloning: Literal["runonce", "storeonce"] | None = Field(
        None, description="Jobs are cloned: nEsConsumers (default: nSitesPerJob) at nSitesPerJob queues (default: 2); "
        "the first to start (runonce), or to succeed (storeonce), goes on; default: they are not")
    nSitesPerJob: int = Field(1, ge=1, le=100, description="Queues to which the consumers of an input go")
    maxJumboPerSite: int = Field(1, ge=1, le=100, description="Jumbo jobs of a task at a queue")
    maxAttemptES: int = Field(10, ge=1, le=1000, description="Attempts at a range")
    notDiscardEvents: bool = Field(False, description="Processed ranges are kept when their input is tried again")
    decAttOnFailedES: bool = Field(False, description="Ranges lose an attempt only when they fail, not when their "
                                   "consumer ends before")
    acceptPartialFinish: bool = Field(False, description="Ranges without attempts left become fatal")
    mergeEsOnOS: bool = Field(False, description="Merge jobs run in the nucleus that has the object store of the queue "
                              "of their consumer (`objectstores`), instead of the task's")
    esConvertible: bool = Field(False, description="A task of production becomes one of event service if the pool of "
                                "events is too small (AES_EVENTPOOLSIZE, AES_MAXPENDING; deployed)")
    esFraction: float = Field(0, ge=0, le=1, description="Probability that a task of production becomes one of event "
                              "service (deployed)")
    es_merge_hs06sec_per_gb: float = Field(100, ge=0, description="True wall time x cores x HS06 of merging a GB of "
                                           "processed events")

    @model_validator(mode="before")
    @classmethod
    def parameters_of_cloning(cls, values: Any) -> Any:
        """Set the parameters that job cloning implies; source: panda-server, `TaskRefinerBase.extractCommon`."""
        if isinstance(values, dict) and values.get("useJobCloning"):
            values = {"eventService": True, "nSitesPerJob": 2} | values
            values = {"nEsConsumers": values["nSitesPerJob"]} | values
        return values

    @staticmethod
    def refuse_consumers(given: Iterable[str], is_on: bool) -> None:
        """Raise ValueError if parameters of consumers are given to a task with clones, or it lacks eventService."""
        others = [name for name in given if name not in OF_CLONING]
        if others:
            raise ValueError(f"{', '.join(others)}: only for consumers, but with useJobCloning jobs are clones")
        if not is_on:
            raise ValueError("useJobCloning: needs eventService: true")

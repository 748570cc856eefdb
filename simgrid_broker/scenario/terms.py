"""Terms in which the editions of the rules differ for a scenario: what is read of it, and what its world is made of."""

from typing import NamedTuple

from simgrid_broker.editions import ByEdition
from simgrid_broker.names import EVENT_SERVICE_QUEUE


class Terms(NamedTuple):
    """Terms of an edition.

    all_space: brokers count all free and expired space, otherwise what is usable of it; terabyte: bytes of a TB in
    DISK_THRESHOLD; standby, cloud, auto, jumbo: nStandby, the cloud of a task, AUTO in includedSite, and jumbo jobs
    with local input are read; transhome_first: software is checked only for tasks with a transHome; meanrss: pilots
    count the mean memory; hs06_unit: a unit of wall time is read if nothing else is said; own_queues: normal and
    partition queues replace the share tree (L4); across_files: jobs by events read across files; analysis_attempts:
    analysis tasks have attempts of their own; asks_users: the labels of users count in dispatch; only_tests: test jobs
    go to queues in test alone; pins: the queue filler pins tasks to any queue; event_queues: names of work queues that
    are one for all resource types.
    """

    all_space: bool
    terabyte: float
    standby: bool
    cloud: bool
    auto: bool
    jumbo: bool
    transhome_first: bool
    meanrss: bool
    hs06_unit: bool
    own_queues: bool
    across_files: bool
    analysis_attempts: bool
    asks_users: bool
    only_tests: bool
    pins: bool
    event_queues: tuple[str, ...]


TERMS = ByEdition(
    documented=Terms(
        all_space=True, terabyte=1e12, standby=False, cloud=False, auto=False, jumbo=False, transhome_first=False,
        meanrss=False, hs06_unit=False, own_queues=True, across_files=True, analysis_attempts=False, asks_users=False,
        only_tests=False, pins=False, event_queues=(EVENT_SERVICE_QUEUE,)),
    deployed=Terms(
        all_space=False, terabyte=1024 * 2**30, standby=True, cloud=True, auto=True, jumbo=True, transhome_first=True,
        meanrss=True, hs06_unit=True, own_queues=False, across_files=False, analysis_attempts=True, asks_users=True,
        only_tests=True, pins=True, event_queues=()))

"""Where the input of analysis tasks lies in a run."""

from simgrid_broker.compiled import compiled
from simgrid_broker.names import ReplicaState

COMPLETE_DISK, INCOMPLETE_DISK, COMPLETE_TAPE, INCOMPLETE_TAPE, COMPLETE_VP, INCOMPLETE_VP = map(int, ReplicaState)


@compiled
def spread_replicas(sources, n, site, states, disk, tape):
    """Fill in the replicas of a dataset at each PanDA queue, as bits of names.ReplicaState, and its parts there.

    sources: of `views.SOURCE`, of which the first n; site: (n_queues,) of the queues; states, disk, tape: (n_queues,),
    the latter the largest part of the files on either.
    """
    for queue in range(len(site)):
        states[queue], disk[queue], tape[queue] = 0, 0.0, 0.0
        for k in range(n):
            source = sources[k]
            if source["site"] == site[queue]:
                whole = source["part"] >= 1
                if source["virtual"]:
                    states[queue] |= COMPLETE_VP if whole else INCOMPLETE_VP
                elif source["tape"]:
                    states[queue] |= COMPLETE_TAPE if whole else INCOMPLETE_TAPE
                    tape[queue] = max(tape[queue], source["part"])
                else:
                    states[queue] |= COMPLETE_DISK if whole else INCOMPLETE_DISK
                    disk[queue] = max(disk[queue], source["part"])

"""Job brokerages with a rule and a factor of their own, once compiled and once in plain Python.

Put into the tuple of an edition they take their turn there: refusals carry their tags, and weights their factors, in
the tables of a run and in `simgrid-broker broker`. A plain rule leaves the whole decision uncompiled.
"""

from dataclasses import replace

from simgrid_broker.policy.brokerage.production.broker import broker_by
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION, JobBrokerage
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import candidate_criterion, candidate_factor

MOST_CORES, MOST_QUEUED = 8, 50
ABOUT = dict(panda="an example", source="examples of simgrid_broker")


def crowded(task, queue, load, link, store, numbers):
    """Refuse queues where more than 50 jobs are activated, to tasks of low priority."""
    waiting = load["activated"]
    return task["currentpriority"] < 800 and waiting > MOST_QUEUED, waiting, MOST_QUEUED


def small_slots(task, queue, load, link, store, numbers):
    """Half the weight for each doubling of the cores of a slot above one."""
    return 1.0 / max(queue["corecount"], 1)


def with_both(edition: JobBrokerage, criterion, factor) -> JobBrokerage:
    """An edition with one more criterion, behind the tenth, and one more factor."""
    criteria = edition.funnel.criteria
    return replace(edition, funnel=Funnel((*criteria[:10], criterion, *criteria[10:])),
                   factors=(*edition.factors, factor))


COMPILED = {name: with_both(edition, candidate_criterion("-crowded", **ABOUT)(crowded),
                            candidate_factor("small_slots", **ABOUT)(small_slots))
            for name, edition in PRODUCTION.items()}
spread_out = broker_by(COMPILED)
"""PanDA's brokerage with both rules, compiled into one decision."""

PLAIN = {name: with_both(edition, candidate_criterion("-crowded", plain=True, **ABOUT)(crowded),
                         candidate_factor("small_slots", plain=True, **ABOUT)(small_slots))
         for name, edition in PRODUCTION.items()}
spread_out_plain = broker_by(PLAIN)
"""The same verdicts without compiling: for trying a rule out, 300 times slower."""

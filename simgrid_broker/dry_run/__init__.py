"""The operator's dry run: one decision of a broker, or one match of DIRAC, on a snapshot, without a simulation."""

from simgrid_broker.dry_run.broker import broker, broker_turn
from simgrid_broker.dry_run.decision import Candidate, Decision, Step
from simgrid_broker.dry_run.match import match
from simgrid_broker.dry_run.match_answer import Matching

__all__ = ["Candidate", "Decision", "Matching", "Step", "broker", "broker_turn", "match"]

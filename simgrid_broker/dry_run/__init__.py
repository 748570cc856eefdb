"""The operator's dry run: one decision of a broker on a snapshot, without a simulation."""

from simgrid_broker.dry_run.broker import broker, broker_turn
from simgrid_broker.dry_run.decision import Candidate, Decision, Step

__all__ = ["Candidate", "Decision", "Step", "broker", "broker_turn"]

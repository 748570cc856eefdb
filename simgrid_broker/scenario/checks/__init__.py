"""Checks between the parts of a scenario or a snapshot, and remarks on what is legal but suspicious."""

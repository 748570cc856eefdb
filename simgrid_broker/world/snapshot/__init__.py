"""Snapshots: a world from the values of a file, and the values of a running world."""

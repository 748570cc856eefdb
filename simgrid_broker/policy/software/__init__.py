"""Releases, containers, CPUs and GPUs: what a task needs, and whether a queue has it."""

"""Snapshots of DIRAC's task queues, requests, and options, read and checked."""

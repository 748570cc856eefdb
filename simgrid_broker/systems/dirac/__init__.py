"""DIRAC: matching, priorities and limits of task queues, in runs and in the answers of `match`."""

"""Data: datasets, replicas, storages, the network between them, and their invariants."""

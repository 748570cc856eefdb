"""Data: storages, networks and the data carousel."""

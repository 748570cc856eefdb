"""Brokerage of analysis jobs to PanDA queues."""

"""Policies and an agent for simgrid_broker; the entry points in pyproject.toml give them their names."""

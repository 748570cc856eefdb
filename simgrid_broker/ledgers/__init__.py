"""Ledgers: what agents remember together of tasks, beyond the tables of the world."""

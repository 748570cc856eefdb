"""Turns: compiled loops that ask a brokerage about one task after another, their tables, and what is recorded."""

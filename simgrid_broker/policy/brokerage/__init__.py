"""Brokerage: the rules of task, production and analysis brokerage, and the frame in which they decide."""

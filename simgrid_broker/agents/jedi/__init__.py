"""JEDI: tasks are refined, get a nucleus, and become jobs; watchdogs and commands change them."""

"""Plots of reports: each function draws a tidy table on Axes."""

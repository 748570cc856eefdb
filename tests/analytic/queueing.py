"""Formulas of queueing theory, error bars, and arrivals for the tests that hold the simulator against theory."""

from math import factorial

import numpy as np

from simgrid_broker import luck


def assert_mean(samples, expected: float, sigmas: float = 4.0, bias: float = 0.0) -> None:
    """The mean over independent seeds agrees with theory within `sigmas` standard errors, and a known bias.

    With 8 seeds four standard errors are exceeded by chance once in 200 choices of the seeds (Student, 7 degrees of
    freedom), with 12 seeds once in 500. The seeds are fixed, so a test that passes once passes always.
    """
    samples = np.asarray(samples)
    error = samples.std(ddof=1) / np.sqrt(len(samples))
    assert error < 0.15 * abs(expected), f"an error of {error:.2g} says nothing about {expected:.4g}"
    assert abs(samples.mean() - expected) < sigmas * error + bias, (
        f"{samples.mean():.5g} +- {error:.2g}, not {expected:.5g}")


def erlang_c(offered: float, servers: int) -> float:
    """Probability that an arrival waits in M/M/c; `offered` = arrival rate x mean service time < servers."""
    top = offered**servers / factorial(servers) * servers / (servers - offered)
    return top / (sum(offered**k / factorial(k) for k in range(servers)) + top)


def poisson(rate: float, n: int, seed: int) -> np.ndarray:
    """Times of the first `n` arrivals of a Poisson process, (n,)."""
    return np.cumsum(-np.log(luck.uniforms(seed, "task_arrival", np.arange(n))) / rate)


def exponential(mean: float, n: int, seed: int) -> np.ndarray:
    """Exponential quantities, (n,)."""
    return -mean * np.log(luck.uniforms(seed, "task_draw", np.arange(n)))

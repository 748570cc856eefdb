"""Keyed random draws: functions of (seed, stream, key), independent of the order of events.

The hash chains the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) over the words of the key.
"""

import math
from functools import cache, wraps
from hashlib import blake2b
from typing import Any

import numba
import numpy as np

from simgrid_broker.compiled import compiled

STREAMS = {name: number for number, name in enumerate((
    "work", "memory", "output", "fate", "fate_time", "transfer", "nucleus_draw", "queue_draw", "phase", "site_fate",
    "decision_record", "task_arrival", "task_draw", "grid_draw", "import_draw", "sloppy", "file_events", "file_size",
    "task_selection", "inactive_poll", "input_loss", "merge_draw", "merge_fate", "time_left", "job_record",
    "dirac_queue", "dirac_class", "dirac_job", "submission", "batch_latency", "network_trouble",
    "dataset_draw", "tape_draw", "build_fate", "decision_check", "consumer_draw",
    "eviction", "jumbo_draw", "es_conversion", "slot_life", "flow_draw"))}
"""Numbers of the streams: one per kind of random draw."""

ATTEMPTS = 256
"""Multiplier of a chunk in the key of an attempt at it; larger than any number of attempts."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_U30, _U27, _U31, _U12, _U1 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(12), np.uint64(1)
_UNIT = 2.0**-52                               # 52 bits plus a half: with 53, the last number would be rounded to 1

_A = (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
      4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3)
_B = (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
      3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3)
_C = (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
      1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4)
_D = (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
      1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9)
_E = (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7)
_F = (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
      1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15)


def _wrapping(function):
    """Silence the overflow warnings of 64-bit words where the function runs uncompiled."""
    if not numba.config.DISABLE_JIT:
        return function

    @wraps(function)
    def quiet(*args):
        with np.errstate(over="ignore"):
            return function(*args)
    return quiet


def _scramble(z):
    z = (z ^ (z >> _U30)) * _FIRST
    z = (z ^ (z >> _U27)) * _SECOND
    return z ^ (z >> _U31)


_mix = compiled(_scramble)


def _word(x):
    return np.asarray(x).astype(np.int64).astype(np.uint64)


def key_of(name: str) -> int:
    """Key of what has a name (a stream of tasks, a site, an agent), the same in every process; 64 bits, signed."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


def keys(stream, numbers) -> np.ndarray:
    """Keys of the random draws of tasks, 0 to 2^63 - 1, from the key of their stream and their numbers in it; int64."""
    with np.errstate(over="ignore"):
        z = _scramble(_GOLDEN ^ (_word(stream) * _GOLDEN))
        return (_scramble(z ^ (_word(numbers) * _GOLDEN)) >> _U1).astype(np.int64)


@cache
def keys_of(names: tuple[str, ...]) -> np.ndarray:
    """Keys of what has these names, (n,) int64, from 0 on; not to be changed."""
    return keys(np.array([key_of(name) for name in names], np.int64), 0)


def uniforms(seed: int, stream: str, a, b=0, c=0) -> np.ndarray:
    """Uniform numbers in (0, 1) for the keys (a, b, c), integers that broadcast; float64 of the broadcast shape."""
    with np.errstate(over="ignore"):
        z = _begun(seed, STREAMS[stream])
        for word in (a, b, c):
            z = _scramble(z ^ (_word(word) * _GOLDEN))
        return ((z >> _U12).astype(np.float64) + 0.5) * _UNIT


@cache
def _begun(seed: int, stream: int) -> Any:
    """The hash of the words that all draws of a stream begin with."""
    z: Any = _GOLDEN
    with np.errstate(over="ignore"):
        for word in (seed, stream):
            z = _scramble(z ^ (_word(word) * _GOLDEN))
    return z


@_wrapping
@compiled
def uniform(seed, stream, a, b, c):
    """Uniform number in (0, 1) for one key; `stream` is its number in STREAMS; equal to `uniforms` bit for bit."""
    z = _mix(_GOLDEN ^ (np.uint64(seed) * _GOLDEN))
    z = _mix(z ^ (np.uint64(stream) * _GOLDEN))
    z = _mix(z ^ (np.uint64(a) * _GOLDEN))
    z = _mix(z ^ (np.uint64(b) * _GOLDEN))
    z = _mix(z ^ (np.uint64(c) * _GOLDEN))
    return (np.float64(z >> _U12) + 0.5) * _UNIT


@compiled
def fill_uniforms(seed, stream, keys, b, c, found):
    """Fill `found`, (n,), with the uniform number for each key and b and c, as `uniform`."""
    for k in range(len(keys)):
        found[k] = uniform(seed, stream, keys[k], b, c)


@_wrapping
@compiled
def key_of_attempt(task, chunk, attempt):
    """Key of the random draws of an attempt at a chunk of a task, 0 to 2^63 - 1; task: key of its own draws."""
    z = _mix(_GOLDEN ^ (np.uint64(task) * _GOLDEN))
    z = _mix(z ^ (np.uint64(chunk) * _GOLDEN))
    z = _mix(z ^ (np.uint64(attempt) * _GOLDEN))
    return np.int64(z >> _U1)


@compiled
def key_of_block(begins, number, size, n_jobs):
    """Key of the draw for the block `number` of `n_jobs` jobs, of `size` jobs each but for the last.

    begins: chunk x ATTEMPTS + attempt of the first job. It is that of the block's job whose chunk is a multiple of the
    size, else of its first: so a job more or less before leaves nearly all blocks the draws that they had.
    """
    chunk, attempt = begins // ATTEMPTS, begins % ATTEMPTS
    first, end = chunk + number * size, chunk + min((number + 1) * size, n_jobs)
    marked = (first + size - 1) // size * size
    return ATTEMPTS * (marked if marked < end else first) + attempt


def draws_of_blocks(seed: int, stream: int, a: int, begins: int, size: int, n_jobs: int,
                    columns: np.ndarray) -> np.ndarray:
    """Uniform numbers for blocks of jobs, (n_blocks, n_columns), as `fill_draws`; stream: number in STREAMS."""
    found = np.empty((math.ceil(n_jobs / size), len(columns)))
    fill_draws((int(seed), int(stream), int(a)), int(begins), int(size), int(n_jobs),
               (columns, np.arange(len(columns)), len(columns)), found)
    return found


@compiled
def fill_draws(key, begins, size, n_jobs, columns, found):
    """Fill the rows of `found` for blocks of jobs, with the key of each (`key_of_block`) for b of `fill_table`."""
    for number in range((n_jobs + size - 1) // size):
        fill_table(key, key_of_block(begins, number, size, n_jobs), 1, columns, found[number:number + 1])


def table(seed: int, stream: int, a: int, b: int, n_rows: int, columns: np.ndarray) -> np.ndarray:
    """Uniform numbers, (n_rows, n_columns), for the keys (a, b, row, key of the column); stream: number in STREAMS."""
    n = len(columns)
    found = np.empty((n_rows, n))
    fill_table((int(seed), int(stream), int(a)), int(b), int(n_rows), (columns, np.arange(n), n), found)
    return found


@_wrapping
@compiled
def fill_table(key, b, n_rows, columns, found):
    """Fill found[row, k] with the uniform number for the key (a, b, row, keys[places[k]]), as `table`.

    key: seed, stream and a; columns: their keys, places of those wanted among them, and number of the places.
    """
    seed, stream, a = key
    keys, places, n_columns = columns
    z = _mix(_GOLDEN ^ (np.uint64(seed) * _GOLDEN))
    z = _mix(z ^ (np.uint64(stream) * _GOLDEN))
    z = _mix(z ^ (np.uint64(a) * _GOLDEN))
    z = _mix(z ^ (np.uint64(b) * _GOLDEN))
    for row in range(n_rows):
        of_row = _mix(z ^ (np.uint64(row) * _GOLDEN))
        for k in range(n_columns):
            found[row, k] = (np.float64(_mix(of_row ^ (np.uint64(keys[places[k]]) * _GOLDEN)) >> _U12) + 0.5) * _UNIT


@compiled
def _ratio(top, bottom, r):
    """Ratio of two polynomials of degree seven in r."""
    above = top[7]
    below = bottom[7]
    for k in range(6, -1, -1):
        above = above * r + top[k]
        below = below * r + bottom[k]
    return above / below


@compiled
def normal_quantile_of(u):
    """Inverse of the standard normal distribution at u in (0, 1); source: Wichura, algorithm AS 241 (1988)."""
    q = u - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(_A, _B, 0.180625 - q * q)
    r = math.sqrt(-math.log(min(u, 1.0 - u)))        # not NumPy's, which differ in the last bit uncompiled
    x = _ratio(_C, _D, r - 1.6) if r <= 5.0 else _ratio(_E, _F, r - 5.0)
    return -x if q < 0.0 else x


@compiled
def _quantiles(flat, out):
    for k in range(flat.size):
        out[k] = normal_quantile_of(flat[k])


def normal_quantile(u) -> np.ndarray:
    """Inverse of the standard normal distribution, element-wise; float64 of the shape of `u`."""
    u = np.asarray(u, np.float64)
    out = np.empty(u.size)
    _quantiles(u.ravel(), out)
    return out.reshape(u.shape)

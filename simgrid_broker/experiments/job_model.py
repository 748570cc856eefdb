"""Wall and CPU times of jobs as the simulator makes them, fitted to records of many queues and tasks at once.

payload = base time of the task + work / (corepower x cores x e), e = min(efficiency of the task x factor of the queue,
1); wall time = staging + overhead of the queue + payload; CPU time = payload x cores x e. Source: `fabric.jobs.pilots`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import splu
from scipy.stats import t as student

from simgrid_broker.experiments.intervals import medians, parts, polished, spread

LOSSES = ("soft_l1",) * 4 + ("cauchy",) * 3
"""Losses of the fits, in turn with the scales of their residuals: the last ones leave wild values out."""
LEAST_SCALE, MOST_SCALE = 5e-3, 0.5
TIME_UNIT_S = 100.0
"""Unit of overheads and base times within the fit, s, so that all parameters have about the same size."""
OF_POWER, OF_FACTOR, OF_OVERHEAD_S, OF_WORK, OF_BASE_S = 0.35, 0.2, 600.0, 0.3, 1200.0
"""Expected distances of a queue's figures from those before, of the work of a group from that of its task, and of base
times from 0: logarithms, and s."""
VARIES = 0.05
"""Spread of the logarithm of the work within a task from which its base time can be told from its work."""
LOSS = {"soft_l1": (lambda off: np.sqrt(1 + off**2) - 1, lambda off: (1 + off**2)**-0.5),
        "cauchy": (lambda off: np.log1p(off**2) / 2, lambda off: 1 / (1 + off**2))}
"""Costs and weights of residuals, by the name of a loss."""
MOST_STEPS, SETTLED, MOST_DAMPING = 40, 1e-7, 1e6
"""Most steps of a fit, the part by which a last one lowers its cost, and the damping at which no step does."""
FIXED = 1e-6
"""Expected distance of what is not fitted."""
OF_A_TASK = 3.0
"""Expected distance of the work of a task from that which shows at the begin of the fit, its logarithm: nearly free."""
LEAST_BEND = 0.2
"""Smallest part of the curvature of the weights that the loss has on average; Gaussian residuals have about 0.65."""
LEAST_WIDTH = 1e-3
"""Smallest half width of the interval of a power or factor, of its logarithm: in records without noise the weak
expectations move them by up to 6e-4."""
OF_OTHERS = 10
"""Tasks of a queue for which count, in the errors of its figures, the tasks at other queues."""
LEAST_SPENT = 1e-3
"""Smallest CPU efficiency of a task."""
LARGEST_FACTOR = 2.0
"""Largest factor of the CPU efficiency that a queue of a scenario may have."""
OF_LEVEL = 0.35
"""Expected standard deviation of the effects of tiers, sites and queues, of logarithms."""
UNSEEN_VARIANCE = 100.0
"""Variance of the logarithm of a figure that the jobs do not show."""
MODERATION = 10
"""Jobs of a queue for which count, in the variance among its jobs, those of all queues."""


class Observed(NamedTuple):
    """Jobs to fit: one value for each, (n_jobs,); numbers of queues, tasks and groups count from 0.

    group: jobs of one task with the same cores and events, which share their work; rest_s: wall time less staging;
    is_payload: rest_s is that of the payload alone, as the pilot timed it; log_size: logarithm of the work, or of the
    events, to which the work is proportional within a task; is_known: log_size is the work itself, HS06 s.
    """

    queue: np.ndarray
    task: np.ndarray
    group: np.ndarray
    cores: np.ndarray
    cpu_s: np.ndarray
    rest_s: np.ndarray
    is_payload: np.ndarray
    log_size: np.ndarray
    is_known: np.ndarray


class Before(NamedTuple):
    """Figures of the queues before the fit, (n_queues,) each: HS06 per core, factor of CPU efficiency, overhead, s; and
    numbers of their sites and tiers.
    """

    power: np.ndarray
    factor: np.ndarray
    overhead_s: np.ndarray
    site: np.ndarray
    tier: np.ndarray


class Fitted(NamedTuple):
    """Figures after the fit, and the half widths of 95 % intervals of the queues' figures, of logarithms and s.

    power, factor, overhead_s: (n_queues,); efficiency, base_s: (n_tasks,); log_work: (n_groups,), what the work of a
    group differs from its size; n_tasks: tasks at each queue; widths: power, factor, overhead_s, NaN where queues are
    compared by their tasks and one has none in common with another; drawn: part of each power that is not of its own
    jobs but of the other queues of its site and tier, 0 to 1.
    """

    power: np.ndarray
    factor: np.ndarray
    overhead_s: np.ndarray
    efficiency: np.ndarray
    base_s: np.ndarray
    log_work: np.ndarray
    n_tasks: np.ndarray
    widths: tuple[np.ndarray, np.ndarray, np.ndarray]
    drawn: np.ndarray


def unfitted(before: Before, task_of: np.ndarray) -> Fitted:
    """Figures without any job: the queues' as before, with nothing known of tasks."""
    unknown, nothing = np.full(task_of.max() + 1, np.nan), np.full(len(before.power), np.nan)
    return Fitted(*before[:3], unknown, unknown, np.full(len(task_of), np.nan), np.zeros(len(before.power), int),
                  (nothing,) * 3, nothing)


def expected_of_others(off: np.ndarray, variance: np.ndarray, levels: Iterable[np.ndarray]
                       ) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of what the figures of the other queues say of that of each queue, (n_queues,) each.

    off: logarithms of the figures over those before; variance: of their errors; levels: numbers of sites, tiers, ...
    A figure is the sum of an effect of each level and of its own, each about 0; their spreads are those of the largest
    likelihood, held away from 0. Sources: Robinson, That BLUP Is a Good Thing, Stat. Sci. 6 (1991) 15; Chung et al., A
    Nondegenerate Penalized Likelihood Estimator for Variance Parameters, Psychometrika 78 (2013) 685.
    """
    alike = np.stack([np.eye(len(off)), *(level[:, None] == level for level in levels)])

    def covariance(spreads: np.ndarray) -> np.ndarray:
        return np.tensordot(spreads**2, alike, 1) + np.diag(variance)

    def cost(spreads: np.ndarray) -> float:
        errors = covariance(spreads)
        unlikely = (np.linalg.slogdet(errors)[1] + off @ np.linalg.solve(errors, off)) / 2
        return float(unlikely + (spreads / OF_LEVEL - np.log(spreads)).sum())

    if not len(off):
        return off, variance
    chosen = minimize(cost, np.full(len(alike), 0.1), bounds=[(1e-3, 1.0)] * len(alike)).x
    precision = np.linalg.inv(covariance(chosen))
    alone = 1 / precision.diagonal()
    return off - alone * (precision @ off), np.maximum(alone - variance, 1e-6)


def _without(variance: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Variances of figures without the expectation that is in them; UNSEEN_VARIANCE where nothing else is."""
    information = 1 / np.maximum(variance, FIXED**2) - 1 / expected
    return 1 / np.maximum(information, 1 / UNSEEN_VARIANCE)


class _Point(NamedTuple):
    """Figures of each job at one point of the parameters."""

    spent: np.ndarray
    is_below: np.ndarray
    base: np.ndarray
    of_work: np.ndarray
    overhead: np.ndarray


class JobModel:
    """A robust least-squares fit with weak expectations; parameters that the jobs cannot show stay at these."""

    def __init__(self, jobs: Observed, before: Before, task_of: np.ndarray, kind_of: np.ndarray):
        """task_of: number of the task of each group, (n_groups,); kind_of: what each task resembles, (n_tasks,)."""
        self.jobs, self.before, self.task_of, self.kind_of = jobs, before, task_of, kind_of
        n_tasks, n_groups = task_of.max() + 1, len(task_of)
        sizes = (len(before.power),) * 3 + (n_tasks, n_tasks, n_groups)
        ends = np.cumsum((0, *sizes))
        self.parts = [slice(begin, end) for begin, end in zip(ends, ends[1:], strict=False)]
        columns = (jobs.queue, jobs.queue, jobs.queue, jobs.task, jobs.task, jobs.group)
        self.columns = [begin + column for begin, column in zip(ends, columns, strict=False)]
        self.queue_of = np.zeros(n_tasks, int)
        self.queue_of[jobs.task] = jobs.queue
        self.common = self._means_of_parts(n_tasks)
        self.has_base = self._has_base(n_tasks)
        self.freedom = self._freedom()
        self.scales = [0.1, 0.1]
        self.measured = 0.0
        self.expected, self.loose, self.begin = self._expected()

    def fit(self) -> Fitted:
        """The figures that the jobs agree with."""
        chosen = self.begin
        low, high = np.full(len(chosen), -np.inf), np.full(len(chosen), np.inf)
        low[self.parts[2]] = low[self.parts[4]] = 0.0
        high[self.parts[1]], high[self.parts[3]], low[self.parts[3]] = np.log(LARGEST_FACTOR), 0.0, np.log(LEAST_SPENT)
        high[self.parts[4]] = np.where(self.has_base, np.inf, 1e-9)
        chosen = np.clip(chosen, low + 1e-12, high - 1e-12)
        for loss in LOSSES:
            chosen = self._descended(chosen, loss, low, high)
            self.measured = self._reliability(chosen)
            self.scales = [float(np.clip(one, LEAST_SCALE, MOST_SCALE)) for one in self._noise(chosen)]
        widths, drawn = self._drawn(chosen, *self._widths(chosen))
        chosen = self._descended(chosen, LOSSES[-1], low, high)
        power, factor, overhead, efficiency, base, work = (chosen[part] for part in self.parts)
        common = self.common @ (factor - np.log(self.before.factor))      # which no job shows
        factor, efficiency = factor - common, np.minimum(efficiency + common[self.queue_of], 0.0)
        if not self.jobs.is_known.all():
            common = self.common @ (power - np.log(self.before.power))
            power, work = power - common, work - common[self.queue_of[self.task_of]]
        known = np.bincount(self.jobs.group, minlength=len(work)) > 0
        of_tasks = medians(work[known], self.task_of[known], len(base))
        efficiency, base, of_tasks = (self._filled(values) for values in (efficiency, base, of_tasks))
        work = np.where(known, work, of_tasks[self.task_of])
        return Fitted(np.exp(power), np.exp(factor), overhead * TIME_UNIT_S, np.exp(efficiency), base * TIME_UNIT_S,
                      work, self._tasks_of_queues(), widths, drawn)

    def _drawn(self, chosen: np.ndarray, widths: tuple[np.ndarray, ...], own: np.ndarray
               ) -> tuple[tuple, np.ndarray]:
        """Expect powers and factors, in a last fit, at those of other queues of the site and tier.

        own: variances of the figures as the jobs alone have them, (3, n_queues). Returns the half widths of the
        intervals, and the part of each power that others have in it, (n_queues,).
        """
        after, parts_of_others = list(widths), np.zeros((2, len(self.before.power)))
        for number, before in enumerate(self.before[:2]):
            seen, of = np.isfinite(widths[number]), self.parts[number]
            where = np.arange(of.start, of.stop)[seen]
            off = chosen[of] - np.log(before)
            common = self.common @ off if number or not self.jobs.is_known.all() else 0 * off
            errors, expected = (widths[number][seen] / 1.96)**2, self.loose[where]**2
            of_jobs = _without(errors, expected)
            alone = (off - common)[seen] * np.where(of_jobs < UNSEEN_VARIANCE, of_jobs / errors, 0.0)
            mean, uncertain = expected_of_others(alone, of_jobs, (self.before.site[seen], self.before.tier[seen]))
            parts_of_others[number, seen] = weight = of_jobs / (of_jobs + uncertain)
            self.expected[where] = (np.log(before) + common)[seen] + mean
            self.loose[where] = np.sqrt(uncertain * _without(own[number, seen], expected) / of_jobs)
            after[number] = np.full(len(off), np.nan)
            after[number][seen] = np.maximum(1.96 * np.sqrt(weight * uncertain), LEAST_WIDTH)
        return tuple(after), parts_of_others[0]

    def _means_of_parts(self, n_tasks: int) -> np.ndarray:
        """Matrix that takes the mean over the jobs of the queues with which each can be compared by tasks, and its own.

        (n_queues, n_queues).
        """
        each = np.arange(len(self.before.power))
        part = parts(np.append(self.jobs.task, n_tasks + each), np.append(self.jobs.queue, each))
        weight = np.maximum(np.bincount(self.jobs.queue, minlength=len(each)), 1)
        return (part == part[:, None]) * weight / np.bincount(part, weight)[part, None]

    def _filled(self, values: np.ndarray) -> np.ndarray:
        """Values of tasks, of those without jobs the median of the fitted ones of their kind, or of all."""
        known = np.bincount(self.jobs.task, minlength=len(values)) > 0
        n_kinds = self.kind_of.max() + 1
        of_kinds = medians(values[known], self.kind_of[known], n_kinds)
        without = np.bincount(self.kind_of[known], minlength=n_kinds) == 0
        of_kinds[without] = np.median(values[known])
        return np.where(known, values, of_kinds[self.kind_of])

    def _descended(self, chosen: np.ndarray, loss: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The parameters at the nearest minimum of a loss, by damped steps of sparse normal equations (Levenberg)."""
        cost_of, weight_of = LOSS[loss]
        off, damping = self._off(chosen), 1e-3
        cost = cost_of(off).sum()
        for _ in range(MOST_STEPS):
            slopes = self._slopes(chosen)
            weighted = slopes.multiply(weight_of(off)[:, None]).tocsr()
            curved, downhill, before = (slopes.T @ weighted).tocsc(), -(weighted.T @ off), cost
            while damping < MOST_DAMPING:
                step = splu((curved + diags_array(damping * curved.diagonal())).tocsc()).solve(downhill)
                tried = np.clip(chosen + step, low, high)
                off_there = self._off(tried)
                if (there := cost_of(off_there).sum()) <= cost:
                    chosen, off, cost, damping = tried, off_there, there, max(damping / 10, 1e-9)
                    break
                damping *= 10
            if before - cost <= SETTLED * before:
                break
        return chosen

    def _reliability(self, chosen: np.ndarray) -> float:
        """Part of the spread of measured CPU times about the model that is that of the work, not of the measurement.

        Wall times about measured CPU times show the noise of the latter, which would flatten the lines of the fit.
        """
        if self.jobs.is_known.all():
            return 0.0
        self.measured = 1.0
        of_cpu, of_rest = self._noise(chosen)
        payload, rest = self._rest(self._at(chosen))
        noise = of_rest / np.median(payload / rest)
        return max(0.0, 1 - (noise / max(of_cpu, LEAST_SCALE))**2)

    def _freedom(self) -> np.ndarray:
        """Factors by which residuals of CPU times and of rests are too small, (2, n_jobs); 0 for a job that shows none.

        The work of a group and the efficiency of a task follow their own jobs, and a job alone wholly.
        """
        of_cpu, of_rest = (np.bincount(one)[one] for one in (self.jobs.group, self.jobs.task))
        counts = np.stack([np.full_like(of_rest, len(of_rest)) if self.jobs.is_known.all() else of_cpu, of_rest])
        factors = np.sqrt(counts / np.maximum(counts - 1, 1)) * (counts > 1)
        return np.where(factors.any(axis=1, keepdims=True), factors, 1.0)

    def _noise(self, chosen: np.ndarray) -> list[float]:
        """Robust spreads of the logarithms of CPU times and of rests about the model."""
        off = np.stack(self._residuals(chosen)) * self.freedom
        return [spread(one[shows]) for one, shows in zip(off, self.freedom > 0, strict=True)]

    def _has_base(self, n_tasks: int) -> np.ndarray:
        """Tasks whose base time can be told from their work, (n_tasks,) bool."""
        middle = medians(self.jobs.log_size, self.jobs.task, n_tasks)
        off = medians(np.abs(self.jobs.log_size - middle[self.jobs.task]), self.jobs.task, n_tasks)
        return off * 1.4826 >= VARIES

    def _expected(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expectations of the parameters, how far each may be from them, and the begin of the fit, by medians."""
        jobs, log_power, log_factor = self.jobs, np.log(self.before.power), np.log(self.before.factor)
        n_queues, n_tasks, n_groups = len(log_power), len(self.has_base), len(self.task_of)
        spent = np.log(np.clip(jobs.cpu_s / (jobs.cores * jobs.rest_s), 0.01, 1.0)) - log_factor[jobs.queue]
        efficiency, factor = self._effects(spent)
        rate = np.log(jobs.cpu_s) - jobs.log_size
        work, slow = self._effects(rate + log_power[jobs.queue])
        if jobs.is_known.all():
            work, slow = np.zeros(n_tasks), medians(rate, jobs.queue, n_queues) + log_power
        overhead = self.before.overhead_s / TIME_UNIT_S
        kept = np.concatenate([overhead, efficiency, np.zeros(n_tasks), work[self.task_of]])
        loose = [np.full(n_queues, value) for value in (OF_POWER, OF_FACTOR, OF_OVERHEAD_S / TIME_UNIT_S)]
        loose += [np.full(n_tasks, 1.0), np.where(self.has_base, OF_BASE_S / TIME_UNIT_S, FIXED),
                  np.full(n_groups, FIXED) if jobs.is_known.all() else np.where(
                      np.bincount(self.task_of)[self.task_of] > 1, OF_WORK, OF_A_TASK)]
        return (np.concatenate([log_power, log_factor, kept]), np.concatenate(loose),
                np.concatenate([log_power - slow, log_factor + factor, kept]))

    def _effects(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Effects of tasks and of queues, the latter 0 on average; of tasks without jobs the median of the others."""
        tasks, task = np.unique(self.jobs.task, return_inverse=True)
        queues, queue = np.unique(self.jobs.queue, return_inverse=True)
        of_tasks, of_queues = polished(values, task, queue)
        all_tasks = np.full(len(self.has_base), np.median(of_tasks) + of_queues.mean())
        all_queues = np.zeros(len(self.before.power))
        all_tasks[tasks], all_queues[queues] = of_tasks + of_queues.mean(), of_queues - of_queues.mean()
        return all_tasks, all_queues

    def _at(self, chosen: np.ndarray) -> _Point:
        jobs, columns = self.jobs, self.columns
        power, factor, overhead, efficiency, base, work = (chosen[column] for column in columns)
        spent = np.exp(np.minimum(efficiency + factor, 0.0))
        of_work = np.exp(np.minimum(jobs.log_size + work - power, 50.0))        # CPU time of the work, s
        return _Point(spent, efficiency + factor < 0, base * TIME_UNIT_S * jobs.cores * spent, of_work,
                      np.where(jobs.is_payload, 0.0, overhead * TIME_UNIT_S))

    def _rest(self, at: _Point) -> tuple[np.ndarray, np.ndarray]:
        """Time of the payload, and of the rest as the model has it, s; noise of measured CPU times is calibrated."""
        cpu = np.exp(self.measured * np.log(self.jobs.cpu_s) + (1 - self.measured) * np.log(at.base + at.of_work))
        payload = cpu / (self.jobs.cores * at.spent)
        return payload, payload + at.overhead

    def _residuals(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of recorded CPU times and rests less those of the model, (n_jobs,) each."""
        at = self._at(chosen)
        return (np.log(self.jobs.cpu_s) - np.log(at.base + at.of_work),
                np.log(self.jobs.rest_s) - np.log(self._rest(at)[1]))

    def _off(self, chosen: np.ndarray) -> np.ndarray:
        of_cpu, of_rest = self._residuals(chosen)
        off = of_cpu / self.scales[0], of_rest / self.scales[1], (chosen - self.expected) / self.loose
        return np.concatenate(off)

    def _slopes(self, chosen: np.ndarray, ends_at_1: bool = True) -> csr_array:
        """Derivatives of `_off`, (n_residuals, n_parameters); ends_at_1: efficiencies do not grow beyond 1."""
        at, jobs, n_jobs = self._at(chosen), self.jobs, len(self.jobs.cpu_s)
        if not ends_at_1:
            at = at._replace(is_below=np.ones(n_jobs, bool))
        payload, rest = self._rest(at)
        cpu = at.base + at.of_work
        worked, based, base_unit = at.of_work / cpu, at.base / cpu, TIME_UNIT_S * jobs.cores * at.spent / cpu
        of_cpu = (-worked, based * at.is_below, 0.0, based * at.is_below, base_unit, worked)
        part, free = payload / rest, (1 - self.measured) * payload / rest
        of_spent = (free * based - part) * at.is_below
        of_rest = (-free * worked, of_spent, np.where(jobs.is_payload, 0.0, TIME_UNIT_S / rest), of_spent,
                   free * base_unit, free * worked)
        rows = np.arange(n_jobs)
        values, lines, columns = [], [], []
        for slopes, scale, first in ((of_cpu, self.scales[0], 0), (of_rest, self.scales[1], n_jobs)):
            for slope, column in zip(slopes, self.columns, strict=True):
                values.append(np.broadcast_to(-np.asarray(slope) / scale, n_jobs))
                lines.append(first + rows)
                columns.append(column)
        n_parameters = len(chosen)
        values.append(1 / self.loose)
        lines.append(2 * n_jobs + np.arange(n_parameters))
        columns.append(np.arange(n_parameters))
        return coo_array((np.concatenate(values), (np.concatenate(lines), np.concatenate(columns))),
                         (2 * n_jobs + n_parameters, n_parameters)).tocsr()

    def _widths(self, chosen: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """Half widths of 95 % intervals of the queues' figures: jobs of a task share what the model lacks.

        Beside them the variances by the curvature alone, (3, n_queues).

        Variances are sandwiches of independent jobs, of few drawn to those of all, times the design effects of tasks,
        which also give the degrees of freedom of Student's quantile.
        """
        n_jobs, n_queues, n_tasks = len(self.jobs.cpu_s), len(self.before.power), len(self.has_base)
        off, slopes = self._off(chosen)[:2 * n_jobs], self._slopes(chosen, ends_at_1=False)[:2 * n_jobs]
        pull, bend = off / (1 + off**2), (1 - off**2) / (1 + off**2)**2      # derivatives of the loss `cauchy`
        expected = diags_array(self.loose**-2.0)
        weight = 1 / (1 + off**2)
        of_bend, of_weight = ((one.reshape(2, -1) * (self.freedom > 0)).sum(axis=1) for one in (bend, weight))
        bent = np.maximum(of_bend / of_weight, LEAST_BEND)
        curved = slopes.multiply((weight * np.repeat(bent, n_jobs))[:, None]).tocsr()
        inverse = splu((slopes.T @ curved + expected).tocsc()).solve(np.eye(len(chosen))[:, :3 * n_queues])
        own = inverse[:3 * n_queues].copy()
        for of in self.parts[int(self.jobs.is_known.all()):2]:                  # power, factor
            inverse[:, of] -= inverse[:, of] @ self.common.T
            own[of, of] = (one := own[of, of] @ (np.eye(n_queues) - self.common.T)) - self.common @ one
        scores = slopes.multiply(pull[:, None]).tocsr()
        by_job = (scores[:n_jobs] + scores[n_jobs:]) @ inverse
        of_task = coo_array((np.ones(n_jobs), (self.jobs.task, np.arange(n_jobs))), (n_tasks, n_jobs)).tocsr()
        of_jobs, of_tasks = (np.square(one).sum(axis=0).reshape(3, -1) for one in (by_job, of_task @ by_job))
        effect, freedom = self._design_effects(of_tasks / np.where(of_jobs > 0, of_jobs, 1.0))
        of_expected = np.square(inverse / self.loose[:, None]).sum(axis=0).reshape(3, -1)
        curvature = own.diagonal().reshape(3, -1)
        alike = np.maximum(curvature - of_expected, 0.0) * np.square(pull).sum() / (
            weight * np.repeat(bent, n_jobs)).sum()
        counts = np.bincount(self.jobs.queue, minlength=n_queues)
        of_jobs = (counts * of_jobs + MODERATION * alike) / (counts + MODERATION)
        width = np.sqrt(of_jobs * effect * student.ppf(0.975, freedom)**2 + of_expected * 1.96**2)
        seen = np.where(self.common.diagonal() < 1, 1.0, np.nan)
        power, factor = np.maximum(width[:2], LEAST_WIDTH)
        widths = power * np.where(self.jobs.is_known.all(), 1.0, seen), factor * seen, width[2] * TIME_UNIT_S
        return widths, curvature

    def _design_effects(self, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Factors by which variances of the queues' figures exceed those of independent jobs, and degrees of freedom.

        ratio: variance of sums over tasks over that of jobs, (3, n_queues). What jobs of a task have in common at the
        other queues counts as OF_OTHERS tasks of the queue's own. Sources: Kish, Survey Sampling, 1965, section 5.4
        (effect = 1 + (mean cluster - 1) x correlation); Smyth, Stat. Appl. Genet. Mol. Biol. 3 (2004) 3.
        """
        pairs, counts = np.unique(np.stack([self.jobs.queue, self.jobs.task]), axis=1, return_counts=True)
        n_tasks, n_jobs, of_squares = (np.bincount(pairs[0], counts**power, ratio.shape[1]) for power in range(3))
        cluster, own = of_squares / np.maximum(n_jobs, 1), np.maximum(n_tasks - 1, 0)
        effect = ratio * n_tasks / np.maximum(own, 1)
        more, jobs = own * (effect - 1), own * np.maximum(cluster - 1, 0.0)
        shared = (more.sum(axis=1, keepdims=True) - more) / np.maximum(jobs.sum() - jobs, 1.0)
        others = np.minimum(own.sum() - own, OF_OTHERS)
        of_others = 1 + np.maximum(cluster - 1, 0.0) * np.maximum(shared, 0.0)
        freedom = np.maximum(own + others, 1)
        return np.maximum((own * effect + others * of_others) / freedom, 1.0), freedom

    def _tasks_of_queues(self) -> np.ndarray:
        pairs = np.unique(np.stack([self.jobs.queue, self.jobs.task]), axis=1)
        return np.bincount(pairs[0], minlength=len(self.before.power))

"""Plain SimPy, with which the speed of the simulator is compared."""

import time

import numpy as np
import simpy

EVENTS_PER_JOB, DIFFERENT_JOBS, MEAN_WAIT_S = 10, 20_000, 1160.0


def yardstick(n_jobs: int = 250_000, equal_waits: bool = False) -> dict:
    """Plain SimPy: a process for each job, created on arrival, ten events, no policy; about 116 000 alive at once.

    Waits are exponential, as different as those of jobs, and drawn before the clock starts. With equal waits of the
    same mean each event comes behind all others and SimPy has nothing to sort: then it does about twice as many jobs.
    """
    done = []
    waits = np.random.default_rng(1).exponential(MEAN_WAIT_S, (DIFFERENT_JOBS, EVENTS_PER_JOB))
    waits = np.full_like(waits, MEAN_WAIT_S).tolist() if equal_waits else waits.tolist()

    def job(env, number):
        for wait in waits[number % DIFFERENT_JOBS]:
            yield env.timeout(wait)
        done.append(env.now)

    def arrivals(env):
        for number in range(n_jobs):
            env.process(job(env, number))
            yield env.timeout(0.1)
    env = simpy.Environment()
    env.process(arrivals(env))
    began, cpu = time.perf_counter(), time.process_time()
    env.run()
    spent, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert len(done) == n_jobs
    return {"jobs": n_jobs, "jobs_per_s": n_jobs / cpu, "jobs_per_wall_s": n_jobs / spent}

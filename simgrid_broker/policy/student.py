"""The 0.95 quantile of Student's t distribution without SciPy, which takes longer to load than a small run to begin."""

import numpy as np

FEWEST = 1 / 9
"""Degrees of freedom below which the quantile is taken as that of so many, 2e8."""
SERIES = (
    1.02559590614034, 0.6784489052783786, 0.1736404058123728, 0.02167351015825439, -0.002368536825154685,
    -0.000532444958344, 0.0006409052748351, 0.0002908125333426, 7.311573140267e-07, -2.531699121305e-05,
    2.903986952657e-06, 8.140029703341e-06, 2.882093480837e-06, -4.133234908499e-08, -2.691967488366e-07,
    1.780885294789e-08, 8.9730592151e-08, 4.614950663284e-08, 1.119867241994e-08, 9.740159512273e-10,
    1.600318697004e-10, 4.35325678283e-10, 3.955632627006e-10, 2.54261944832e-10, 1.39143419009e-10, 6.364e-11,
    2.2604e-11, 5.9854e-12, 1.6236e-12, 1.0821e-12, 9.3073e-13, 5.3008e-13)
"""Chebyshev series of log(quantile) * degrees / (1 + degrees) in 1 / (1 + degrees) from 0 to 1 / (1 + FEWEST).

Interpolates `scipy.special.stdtrit` (1.17) at 32 nodes; relative error of the quantile below 2e-11.
"""


def student_95(degrees: np.ndarray) -> np.ndarray:
    """Quantile 0.95 for degrees of freedom above 0, whole or not, (n,)."""
    place = 1 / (1 + np.maximum(degrees, FEWEST))
    x = 2 * (1 + FEWEST) * place - 1
    following, last = np.zeros_like(x), np.zeros_like(x)
    for number in SERIES[:0:-1]:                                        # Clenshaw's recurrence
        following, last = number + 2 * x * following - last, following
    return np.exp((SERIES[0] + x * following - last) / (1 - place))

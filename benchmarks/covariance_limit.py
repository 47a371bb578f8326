"""Where the covariance of the inertial filter goes in a day, a week and for ever, without running them.

The states decay to nominal with the time constant T and the noise that keeps the prior P_0 stationary, and
data that repeat themselves bring information at a mean rate L. The covariance follows the Riccati equation

    P' = -2/T (P - P_0) - P L P,

which separates in the coordinates in which P_0 is the identity and L is diagonal: p' = 2/T (1 - p) - l p^2.
Each p tends to (sqrt(1 + 2 l T) - 1) / (l T), with the rate 2/T sqrt(1 + 2 l T): a direction about which the
data say much is soon stationary, one about which they say nothing after T/2.

Two data sets of `benchmarks.soak`: its motion, and for the worst case one posture held for ever, whose
information never changes its direction. Printed are the lowest eigenvalues, scaled to a unit diagonal, of the
covariances of the links (as the soak reports them) and of the state. Run from the root of the project:
``python -m benchmarks.covariance_limit``.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.soak import RATE_HZ, REST_S, Soak
from inertial_estimation.estimators.inertial.inertial_estimator import MeasuredStep
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.inertial.link_estimates import LinkReport
from inertial_estimation.signals import Array

HOURS = (0.1, 0.5, 1.0, 2.5, 6.0, 24.0, 168.0, np.inf)


def information_rate(pipeline: InertialPipeline, steps: Sequence[MeasuredStep]) -> Array:
    """Return the mean information that steps bring to the state in a second, shape (n, n)."""
    filter_, noise = pipeline.filter, pipeline.estimator.corrected.noise
    total, elapsed = np.zeros_like(filter_.P), 0.0
    for step in steps:
        equation = noise.scaled(step.equation)
        H = equation.regressor @ filter_.state.at.dphi
        total += H.T @ np.linalg.solve(filter_.overlap * equation.noise, H)
        elapsed += step.dt
    rate: Array = total / elapsed
    return rate


class CovarianceInTime:
    """The covariance of a filter on data that repeat themselves, from the prior on."""

    def __init__(self, prior_factor: Array, rate: Array, memory: float) -> None:
        """Separate the Riccati equation.

        Args:
            prior_factor: Lower Cholesky factor of the prior covariance, shape (n, n).
            rate: Information in a second, shape (n, n).
            memory: Time constant T of the decay to nominal [s].
        """
        rates, V = np.linalg.eigh(prior_factor.T @ rate @ prior_factor)
        self._rates, self._axes = np.maximum(rates, 1e-12), prior_factor @ V
        self._memory = memory

    def at(self, time_s: float) -> Array:
        """Return the covariance after a time [s], shape (n, n)."""
        rate, T = self._rates, self._memory
        root = np.sqrt(1.0 + 2.0 * rate * T)
        limit, other = (root - 1.0) / (rate * T), -(root + 1.0) / (rate * T)
        decay = (1.0 - limit) / (1.0 - other) * np.exp(-2.0 * root / T * time_s)
        p = (limit - other * decay) / (1.0 - decay)
        P: Array = (self._axes * p) @ self._axes.T
        return P


def lowest(P: Array) -> float:
    """Return the lowest eigenvalue of a covariance scaled to a unit diagonal."""
    deviation = np.sqrt(P.diagonal())
    return float(np.linalg.eigvalsh(P / np.outer(deviation, deviation))[0])


def lowest_of_links(pipeline: InertialPipeline, P: Array) -> float:
    """Return the lowest one of the covariances of all links."""
    filter_ = pipeline.filter
    pi_C, covariance_C = filter_.parameters_of(filter_.x, P)
    links = LinkReport(filter_.bodies).estimates(pi_C, covariance_C, pi_C)
    return min(lowest(link.covariance) for link in links)


def show(name: str, pipeline: InertialPipeline, steps: Sequence[MeasuredStep]) -> None:
    memory = pipeline.config.prior.memory
    in_time = CovarianceInTime(pipeline.filter.prior_factor, information_rate(pipeline, steps), memory)
    for hours in HOURS:
        P = in_time.at(3600.0 * hours)
        sigma = np.sqrt(pipeline.filter.parameters_of(pipeline.filter.x, P)[1][:, 0, 0])
        text = f"{hours:g} h" if np.isfinite(hours) else "for ever"
        print(
            f"| {name} | {text} | {lowest_of_links(pipeline, P):.2e} | {lowest(P):.2e} | "
            f"{', '.join(f'{1e3 * s:.1f}' for s in sigma)} |",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settling", type=int, default=1, help="periods of motion before the one looked at")
    parser.add_argument("--memory", type=float, help="prior.memory [s]; default: as shipped")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    soak = Soak(options.seed, options.memory)
    soak.run_periods(options.settling)
    pipeline = soak.inertial
    steps: list[MeasuredStep] = []
    pipeline.on_update = lambda step, _update: steps.append(step)
    soak.run_periods(1)
    P, after_s = pipeline.filter.P, soak.steps / RATE_HZ
    predicted = CovarianceInTime(
        pipeline.filter.prior_factor,
        information_rate(pipeline, steps),
        pipeline.config.prior.memory,
    ).at(after_s)
    print(
        f"after {after_s:g} s the filter has {lowest_of_links(pipeline, P):.2e} (links) and {lowest(P):.2e} "
        f"(state), predicted {lowest_of_links(pipeline, predicted):.2e} and {lowest(predicted):.2e}\n"
    )
    print("| data | after | lowest eigenvalue: links | state | sigma of the masses [g] |")
    print("|---|---|---|---|---|")
    show("motion", pipeline, steps)
    at_rest = steps[: round(0.5 * REST_S * RATE_HZ)]
    show("one posture", pipeline, at_rest)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

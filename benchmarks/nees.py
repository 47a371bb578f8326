"""Consistency of the inertial filter on synthetic TALOS over many seeds; the referee takes three.

Each seed draws masses and centres of mass of three links with the prior that the filter is given, simulates a
double-support motion with realistic noise, and compares the errors of the bodies' ten parameters with the
covariance that is reported, over the second half of the run. NEES is divided by its expectation; in brackets
the 95 % bounds of its mean over the seeds, if each seed counted once.

    python -m benchmarks.nees [--seeds 50] [--mass 0.2 --com 0.02 --radii 0.1]
"""

import argparse

import numpy as np
from scipy.stats import chi2

from benchmarks.referee.synthetic import body_errors

PARTS = {"mass": slice(0, 1), "centre of mass": slice(1, 4), "inertia": slice(4, 10)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--duration", type=float, default=6.0, metavar="S")
    parser.add_argument("--mass", type=float, default=0.2, help="prior of masses, a share")
    parser.add_argument("--com", type=float, default=0.02, help="prior of centres of mass [m]")
    parser.add_argument("--radii", type=float, default=0.1, help="prior of radii of gyration, a share")
    args = parser.parse_args()
    prior = {"prior.mass": args.mass, "prior.com": args.com, "prior.radii": args.radii}
    nees, inside = [], {name: [] for name in PARTS}
    for seed in range(args.first, args.first + args.seeds):
        errors, covariances = body_errors(seed, args.duration, prior)
        squares = np.einsum("nbi,nbij,nbj->nb", errors, np.linalg.inv(covariances), errors)
        nees.append(squares.mean(axis=0).sum())
        deviations = np.abs(errors) / np.sqrt(np.diagonal(covariances, axis1=2, axis2=3))
        for name, part in PARTS.items():
            inside[name].append(np.mean(deviations[:, :, part] < 2.0))
    freedom = 10 * errors.shape[1]
    low, high = chi2.ppf([0.025, 0.975], freedom * args.seeds) / (freedom * args.seeds)
    mean, median, worst = np.array([np.mean(nees), np.median(nees), np.max(nees)]) / freedom
    print(f"{args.seeds} seeds from {args.first} on, {args.duration:g} s, prior {prior}")
    print(
        f"NEES over {freedom}: mean {mean:.2f} [{low:.2f}, {high:.2f}], median {median:.2f}, max {worst:.3g}"
    )
    print("within 2 sigma: " + ", ".join(f"{name} {100 * np.mean(s):.1f} %" for name, s in inside.items()))


if __name__ == "__main__":
    main()

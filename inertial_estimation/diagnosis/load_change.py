"""A load that is put on or taken off during the recording: on a trunk, in a hand, on any body.

It is a hypothesis like any other: mass and first moment of a body are others from some time on, or up to it.
The normal equations of such columns are sums over the windows after that time, or before it, so that all
times and bodies are compared by their evidence (`force_evidence`), what tolerances do marginalised, and what
any body does whose mass is another one all the time.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.causes import LINK, OF_ROBOT
from inertial_estimation.diagnosis.evidence import CERTAIN, SIGMAS, gained
from inertial_estimation.diagnosis.force_evidence import Problem, fit_forces
from inertial_estimation.diagnosis.hypotheses import OF_FORCES, Hypothesis
from inertial_estimation.diagnosis.table import Change, Indices, Load, spread
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

MASS, LEVER = 0.3, 0.1  # deviations of a load, share of the robot's mass, and of its place on a body [m]
LINK_PRICE = 4.0  # of a mass and its place, in logarithms, as of a scale of any size
SPLITS = 24  # times that are compared first
EDGE = 15  # one in so many windows at either end cannot show a change


class _Step(NamedTuple):
    """The most probable load after, or before, one of some windows."""

    log: float  # evidence against none
    window: int  # the first one after the change
    link: int
    load: Array  # mass [kg] and first moment about the nominal centre of mass [kg m], shape (4,)
    sigma: float  # of the mass [kg]
    price: float  # of its four numbers, in logarithms


def load_hypotheses(of: Problem) -> Iterator[Hypothesis]:
    """Yield that a load was put on, and that one was taken off, each at its most probable time and body."""
    rows, total, edge = of.rows, float(of.rows.masses.sum()), len(of.rows.left) // EDGE
    for later, done in ((True, "put on"), (False, "taken off")):
        step = _most_probable_step(of, edge + spread(len(rows.left) - 2 * edge, SPLITS), later=later)
        if step is None:
            continue
        near = step.window + np.arange(-(len(rows.left) // SPLITS), len(rows.left) // SPLITS + 1)
        near = near[(near >= edge) & (near < len(rows.left) - edge)]
        step = _most_probable_step(of, near, later=later) or step
        mass, link = float(step.load[0]), rows.links[step.link]
        if step.log < CERTAIN or mass < max(OF_ROBOT.matters * total, SIGMAS * step.sigma):
            continue
        at = float(rows.times_s[step.window])
        span = (at, math.inf) if later else (-math.inf, at)
        yield Hypothesis(
            *("load change", "recording", f"{mass:.3g} kg were {done} '{link}' at {at:.1f} s"),
            "no one description fits all of the recording; what else is said holds without this load",
            Change(load=Load(link, tuple(step.load.tolist()), *span)),
            step.price + math.log(len(rows.left) * len(rows.links)),
            mass if later else -mass,
            "kg",
            OF_FORCES,
            mild=True,
            least=0.0,
        )


def mass_hypotheses(of: Problem) -> Iterator[Hypothesis]:
    """Yield that the link that explains most has another mass, or a load, all the time."""
    links = (one for one in fit_forces(of).causes if one.kind is LINK and one.possible and one.counts)
    for cause in itertools.islice(links, 1):
        change = Change(load=Load(cause.subject, tuple(cause.seen.amplitude.tolist())))
        price = LINK_PRICE + math.log(len(of.rows.links))
        yield Hypothesis(LINK.check, cause.subject, cause.words, "", change, price, parts=OF_FORCES)


def _most_probable_step(of: Problem, splits: Indices, *, later: bool) -> _Step | None:
    """Return the most probable load from one of some windows on (`later`), or up to it."""
    links = [cause for cause in of.causes if cause.kind is LINK]
    own = np.concatenate([cause.place[:4] for cause in links])
    known, prior = of.marginalised(links)
    scale = of.weight / math.sqrt(float((of.weight > 0.0).sum()) / of.readings)
    sums = [np.zeros((len(known), len(own))), np.zeros((len(links), 4, 4)), np.zeros(len(own))]
    parts = []
    for part in np.split(np.arange(len(of.weight)), splits):
        X = (of.A[part] * scale[part][:, :, None]).reshape(-1, of.A.shape[2])
        loads = X[:, own].reshape(len(X), -1, 4)
        y = (of.rows.left[part] * scale[part]).ravel()
        more = X[:, known].T @ X[:, own], np.einsum("nla,nlb->lab", loads, loads), X[:, own].T @ y
        sums = [a + b for a, b in zip(sums, more, strict=True)]
        parts.append(sums)
    inner = linear_algebra.inv(of.G[np.ix_(known, known)] + np.diag(prior**-2.0))
    deviations = MASS * float(of.rows.masses.sum()) * np.array([1.0] + [LEVER] * 3)
    best: _Step | None = None
    for k, before in enumerate(parts[:-1]):
        C, D, h = [all_ - one for all_, one in zip(sums, before, strict=True)] if later else before
        T = inner @ C
        g = (h - T.T @ of.b[known]).reshape(-1, 4)
        S = D - np.einsum("kla,klb->lab", C.reshape(len(C), -1, 4), T.reshape(len(C), -1, 4))
        loads, covariance, log = gained(S, g, deviations)
        log[loads[:, 0] <= 0.0] = -np.inf
        i = int(np.argmax(log))
        if log[i] > (0.0 if best is None else best.log):
            sigma = math.sqrt(max(float(covariance[i, 0, 0]), 0.0))
            price = 0.5 * float(g[i] @ loads[i] + np.sum((loads[i] / deviations) ** 2)) - float(log[i])
            best = _Step(float(log[i]), int(splits[k]), i, loads[i], sigma, price)
    return best

"""A load that is put on or taken off during the recording: on a trunk, in a hand, on any body.

It is a hypothesis like any other: mass and first moment of a body change at some time. The normal equations
of its columns are sums over the windows after that time (or before it), so that all times and bodies are
compared by their evidence (`force_evidence`). Tolerances and constant errors of the masses of all links are
marginalised.
"""

import math
from collections.abc import Iterator

import numpy as np

from inertial_estimation.diagnosis.causes import LINK, OF_ROBOT, OFFSET
from inertial_estimation.diagnosis.evidence import CERTAIN, SIGMAS, gained
from inertial_estimation.diagnosis.force_evidence import Problem, fit_forces
from inertial_estimation.diagnosis.hypotheses import OF_FORCES, Hypothesis
from inertial_estimation.diagnosis.table import Change, Load, Robot
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

MASS, LEVER = 0.3, 0.1  # prior deviations of a load, share of the robot's mass, and of its place [m]
ASSUMED = LINK, OFFSET  # kinds of causes by the forces that are assumed while errors of sensors are sought
ASSUMED_PRICE = 4.0  # penalty of one of them, in log odds, that of a scale of any size
EDGE = 15  # one in this many windows at either end is excluded as the time of a change


def load_hypotheses(system: Problem) -> Iterator[Hypothesis]:
    """Yield the hypotheses that a load is put on or taken off, at the most probable time and body of each.

    Its four parameters are mass [kg] and first moment about the described centre of mass [kg m].
    """
    rows, total, edge = system.rows, float(system.rows.masses.sum()), max(1, len(system.rows.left) // EDGE)
    deviations = MASS * total * np.array([1.0] + [LEVER] * 3)
    for later, done in ((True, "put on"), (False, "taken off")):
        S, g = _normal_equations(system, later=later)
        loads, covariances, log = gained(S, g, deviations)
        log[loads[..., 0] <= 0.0] = log[:edge] = log[len(log) - edge :] = -math.inf
        window, link = np.unravel_index(int(np.argmax(log)), log.shape)
        load, odds = loads[window, link], float(log[window, link])
        mass, sigma = float(load[0]), math.sqrt(max(float(covariances[window, link, 0, 0]), 0.0))
        if odds < CERTAIN or mass < max(OF_ROBOT.matters * total, SIGMAS * sigma):
            continue
        at, subject = float(rows.times_s[window]), rows.links[link]
        span = (at, math.inf) if later else (-math.inf, at)
        price = 0.5 * float(g[window, link] @ load + np.sum((load / deviations) ** 2)) - odds
        yield Hypothesis(
            *("load change", "recording", f"{mass:.3g} kg were {done} '{subject}' at {at:.1f} s"),
            "no single description fits the whole recording; the other findings hold without this load",
            Change(load=Load(subject, tuple(load.tolist()), *span)),
            price + math.log(len(rows.left) * len(rows.links)),
            mass if later else -mass,
            "kg",
            OF_FORCES,
            mild=True,
            least=0.0,
        )


def force_hypotheses(system: Problem, robot: Robot, config: RobotGeometryConfig) -> Iterator[Hypothesis]:
    """Yield that the link whose mass, or the joint whose offset, explains most has it all the time."""
    fitted = [one for one in fit_forces(system).causes if one.possible]
    for alike in ([one for one in fitted if one.kind is kind] for kind in ASSUMED):
        for cause in alike[:1]:
            change, price = cause.mended(robot, config)[0], ASSUMED_PRICE + math.log(len(alike))
            yield Hypothesis(cause.kind.check, cause.subject, cause.words, "", change, price)


def _normal_equations(system: Problem, *, later: bool) -> tuple[Array, Array]:
    """Return information S and gradient g of a load on each of l bodies after each window, or before it.

    Shape (N, l, 4, 4) and (N, l, 4). With L L' the information of the marginalised columns X, and H the
    columns of the loads, V = L^-1 X' H is a sum over windows, as H' H and H' y are; S = H' H - V' V.
    """
    links = [cause for cause in system.causes if cause.kind is LINK]
    known, prior = system.marginalised(links)
    scale = system.weight / math.sqrt(float((system.weight > 0.0).sum()) / system.readings)
    X, y = system.A * scale[:, :, None], system.rows.left * scale
    H = X[:, :, np.concatenate([cause.place[:4] for cause in links])].reshape(*y.shape, -1, 4)
    white = linear_algebra.inv(linear_algebra.cholesky(system.G[np.ix_(known, known)] + np.diag(prior**-2.0)))

    def summed(terms: Array) -> Array:
        before: Array = np.cumsum(terms, axis=0) - terms
        return terms.sum(axis=0) - before if later else before

    columns = H.reshape(*y.shape, -1)
    V = summed(white @ X[:, :, known].transpose(0, 2, 1) @ columns).reshape(len(y), len(known), -1, 4)
    S = summed(np.einsum("nmla,nmlb->nlab", H, H)) - np.einsum("nkla,nklb->nlab", V, V)
    return S, summed(np.einsum("nmla,nm->nla", H, y)) - np.einsum("nkla,k->nla", V, white @ system.b[known])

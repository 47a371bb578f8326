"""Synthetic readings with known truth: payloads, wrong noise, consistency."""

import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import inertial_estimation as ie
from benchmarks.referee.commands import identified
from benchmarks.referee.parts import NOISE_FACTORS
from benchmarks.referee.readings import fed, measured, written
from benchmarks.referee.row import Better, Row, figure
from inertial_estimation.models.urdf_inertia import perturbed_urdf, urdf_with_bodies
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot

ATTACHED_S, LENGTH_S = 5.0, 9.0
TORQUE_NOISE = 0.5  # value of the parameter `noise.torque` for a robot as heavy as TALOS [Nm]
PRIOR = {"prior.mass": 0.2, "prior.com": 0.02, "prior.radii": 0.1}  # errors of a description from CAD
CONSISTENT_S, DRAWN = 6.0, 6  # duration of each run [s], robots drawn for each seed
INFORMED = 3.0  # ratio of information to the prior's above which a direction is informed: half its sigma
UR10 = """/**:
  ros__parameters: {urdf: "example-robot-data:ur10_joint_limited_robot", floating_base: false}
/**/inertial_ekf:
  ros__parameters:
    contact_wrenches: none
    friction: {joints: ["*"], terms: [coulomb, viscous, offset, armature]}
"""


@cache
def standing_talos(seed: int) -> tuple[Any, Any]:
    """Return truth and recording of a TALOS that stands, moves its arms and gets a load of 5.44 kg."""
    streams = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return measured("talos", LENGTH_S, *streams, payload_time_s=ATTACHED_S)


def talos(**changes: object) -> Any:
    """Return an inertial pipeline with the parameters of TALOS, some of them changed."""
    file = ie.load_configs(["talos"]).overridden([("inertial_ekf", *change) for change in changes.items()])
    return ie.build_pipelines(file, only=["inertial_ekf"]).inertial


def masses_over_time(seed: int, **changes: object) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return causal times since the attachment [s], estimated, published and true masses [kg]."""
    truth, recording = standing_talos(seed)
    times, estimated, published = [], [], []
    for step in fed(recording, inertial=talos(**changes)):
        for estimate in step.inertial:
            times.append((step.now_ns - int(truth.stamps_ns[0])) * 1e-9 - ATTACHED_S)
            estimated.append([link.estimate.mass for link in estimate.links])
            published.append([link.published.mass for link in estimate.links])
    load = {truth.payload.body.link: truth.payload.body.mass}
    names = [link.estimate.link for link in estimate.links]
    true = [truth.robot.link_body(name).nominal_J.mass + load.get(name, 0.0) for name in names]
    return np.array(times), np.array(estimated), np.array(published), np.array(true)


def payload_rows(seeds: Sequence[int]) -> list[Row]:
    """Return the log time from which on the loaded forearm's mass stays within 5 %, and its final error."""
    found: list[list[float]] = []
    for seed in seeds:
        times, estimated, published, true = masses_over_time(seed)
        loaded = int(np.argmax(np.abs(estimated[-1] - estimated[np.searchsorted(times, -0.1)])))
        ends = [settling(times, masses[:, loaded] / true[loaded] - 1.0) for masses in (estimated, published)]
        found.append([*ends, 100.0 * abs(estimated[-1, loaded] / true[loaded] - 1.0)])
    causal, published_s, error = np.array(found).T
    head = "TALOS takes 5.44 kg"
    return [
        figure(f"{head}: estimate within 5 % for good, causal", causal, "s", least=0.02),
        figure(f"{head}: published within 5 % for good, causal", published_s, "s", least=0.02),
        figure(f"{head}: error of the mass at the end", error, "%"),
    ]


def settling(times: np.ndarray, errors: np.ndarray) -> float:
    """Return the time from which on errors stay within 5 % [s], infinite if they do not."""
    last = np.flatnonzero(np.abs(errors) > 0.05)[-1]
    return float(times[last + 1]) if last + 1 < len(times) else np.inf


def noise_rows(seeds: Sequence[int]) -> list[Row]:
    """Return the error of all masses in the last two seconds, with right and wrong stated torque noise."""
    rows = []
    for name, factor in {"as it is": 1.0, **NOISE_FACTORS}.items():
        found = []
        for seed in seeds:
            noise = {"noise.torque": factor * TORQUE_NOISE}
            times, estimated, _published, true = masses_over_time(seed, **noise)
            late = times > times[-1] - 2.0
            found.append(float(np.mean(np.linalg.norm(estimated[late] - true, axis=1))))
        rows.append(figure(f"TALOS, noise of torques {name}: error of the masses", found, "kg"))
    return rows


def arm_payload_rows(seeds: Sequence[int]) -> list[Row]:
    """Return the error of `identify` for a load on the wrist of a UR10 that differs from its description."""
    both, alone = [], []
    urdf = ie.read_urdf("example-robot-data:ur10_joint_limited_robot")
    for seed, mass in zip(seeds, cycle((0.5, 2.0, 6.0)), strict=False):
        rng = np.random.default_rng([seed, 5])
        true = perturbed_urdf(urdf, rng, mass_sigma=0.1, com_sigma=0.005)
        with tempfile.TemporaryDirectory() as folder:
            bags, file = [], Path(folder, "arm.yaml")
            file.write_text(UR10, encoding="utf-8")
            for name, at in (("loaded", 0.0), ("bare", None)):
                load = {"payload_mass": mass, "payload_time_s": at, "payload_link": "wrist_3_link"}
                truth = ie.synthetic_truth("arm", ie.Timing(20.0, 250.0, rest_s=0.5), rng, urdf=true, **load)
                bags.append(written(ie.measure(truth, ie.REALISTIC, rng), Path(folder, name)))
            for found, more in ((both, ["--unloaded", bags[1]]), (alone, [])):
                words = (bags[0], "--config", file, "--payload", "wrist_3_link", *more)
                found.append(1e3 * abs(identified(*words)["payload"]["mass"] - mass))
    head = "load on a UR10 unlike its file"
    return [
        figure(f"{head}, with a bare recording: error", both, "g", least=0.5),
        figure(f"{head}, one recording: error", alone, "g"),
    ]


def consistency_rows(seeds: Sequence[int]) -> list[Row]:
    """Return ratios of the errors of bodies to their covariances, for robots drawn from the prior.

    Informed and uninformed directions are separate: in the latter the errors are those of the prior.
    """
    parts = {"mass": slice(0, 1), "centre of mass": slice(1, 4), "inertia": slice(4, 10)}
    names = ("NEES over its expectation", "the same of what the data inform", "of what they do not")
    ratios: list[list[float]] = [[], [], []]
    inside: dict[str, list[float]] = {name: [] for name in parts}
    for seed in seeds:
        of_robots = zip(*(body_errors(seed, robot) for robot in range(DRAWN)), strict=True)
        squares, known, deviations = map(np.concatenate, of_robots)
        for found, chosen in zip(ratios, (known > -1.0, known > INFORMED, known <= INFORMED), strict=True):
            found.append(float(squares[chosen].mean()))
        for name, part in parts.items():
            inside[name].append(100.0 * float(np.mean(deviations[..., part] < 2.0)))
    head = "TALOS, bodies unlike the file"
    rows = [figure(f"{head}: {name}", found) for name, found in zip(names, ratios, strict=True)]
    return rows + [
        figure(f"{head}: {name} within 2 sigma", values, "%", Better.HIGHER, least=3.0)
        for name, values in inside.items()
    ]


def body_errors(seed: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return squared errors over their variances for the bodies of a TALOS drawn from the prior.

    Deviations over sigma are those of the estimates of the second half of a run.

    Returns:
        Squared errors along each direction of the final state, shape (n,); information of the data about it
        over that of the prior, shape (n,); errors of mass, centre of mass and inertia over their standard
        deviations, shape (k, bodies, 10).
    """
    rng = np.random.default_rng([seed, number, 7])
    pipeline = talos(**PRIOR)
    unknowns = pipeline.model.unknowns
    k, (root, whitening) = unknowns.n_inferred, unknowns.prior_root
    x = unknowns.nominal.copy()
    x[:k] += root @ rng.standard_normal(k)
    drawn = [body.to_link @ pi for body, pi in zip(unknowns.bodies, unknowns.at(x).pi_C, strict=True)]
    others, urdf = pipeline.model.config.prior.others, ie.read_urdf(synthetic_robot("talos").urdf)
    mass, com = others * PRIOR["prior.mass"], others * PRIOR["prior.com"]
    urdf = perturbed_urdf(urdf, rng, mass_sigma=mass, com_sigma=com)
    urdf = urdf_with_bodies(urdf, pipeline.robot, unknowns.bodies, drawn)
    truth, recording = measured("talos", CONSISTENT_S, rng, urdf=urdf, payload_time_s=None)
    inertias = [body.T_JL.actInv(body.nominal_J) for body in map(truth.robot.link_body, pipeline.model.links)]
    true = np.array([_entries(one.mass, one.lever, one.inertia) for one in inertias])
    deviations = []
    for step in fed(recording, inertial=pipeline):
        for estimate in step.inertial:
            found = [link.estimate for link in estimate.links]
            error = np.array([_entries(e.mass, e.com_L, e.inertia_Lcm) for e in found]) - true
            variances = np.array([link.covariance.diagonal() for link in estimate.links])
            deviations.append(np.abs(error) / np.sqrt(variances))
    posterior = pipeline.estimator.posterior
    mu, V = np.linalg.eigh(whitening @ posterior.covariance[:k, :k] @ whitening.T)
    error = V.T @ (whitening @ (posterior.x - x)[:k])
    return error**2 / mu, 1.0 / mu - 1.0, np.array(deviations[len(deviations) // 2 :])


def _entries(mass: float, com: Any, inertia: Any) -> np.ndarray:
    """Return mass, centre of mass and moments of inertia as the reported covariance has them, shape (10,)."""
    return np.array([mass, *com, *np.asarray(inertia)[np.triu_indices(3)]])

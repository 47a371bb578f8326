"""Tilt and contacts of quadrupeds without force sensors, by joint torques, compared with sensors.

Run from the root of the project: ``python -m benchmarks.contacts_without_sensors``. `gaits` are the synthetic
gaits of `tilt_gaits`, whose torques are exact but for noise and Coulomb friction of 0.001 m times the weight;
`crawl` is the simulated robot that crawls on its estimates under a load that comes unannounced, as in the
experiment trunk-ekf-walk, with no wrench topic at all, for the controller neither. A touchdown is a rise of
the true force above ``contact.force_on`` after at least 0.1 s below; its delay is that of the contact in use.
`false` is the share of the time of a true force of zero in which the contact is in use, which includes the
delay at lift-off.
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.tilt_gaits import BEGUN_S, GAITS, RATE_HZ, STRIDES, errors, quadruped
from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.compilation import numbers
from inertial_estimation.configuration.node_names import INERTIAL_NODE, SIMULATOR_NODE, TILT_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.estimators.tilt.base_state_estimator import BaseStateEstimator
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.experiments.crawl_run import load_on_trunk, perturbed_robot
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.replay.metrics import angles_between
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.synthetic.gait_sensors import GaitReadings, feet_at_rest, gait_readings
from inertial_estimation.synthetic.synthetic_gait import gait_motion

SOURCES = ("wrench", "joint_torques")
LEVER = 1e-3  # on which the weight gives noise and Coulomb friction of the torques [m]
LOADS = {"hyq": ("trunk", 100.0, (-0.75, 0.4, 0.0), 0.3), "go2": ("base", 20.0, (-0.1, 0.05, 0.1), 0.1)}
"""Link, weight [N], place in the base [m] of the load, and stride [m], by robot."""
SWINGS = 1000  # more than a run has
STANDS_S, LOAD_S, APART_S, LOOKED_S = 1.0, 5.0, 0.1, 0.2
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run: tilt errors [deg], true forces [N] and contacts in use at the same times."""

    tilt: Array
    forces: Array
    used: Booleans
    rate: float
    force_on: float
    fell: bool = False

    def delays(self) -> list[float]:
        """Delays of all touchdowns [ms]; negative: in use before the force was there."""
        apart, looked = round(APART_S * self.rate), round(LOOKED_S * self.rate)
        found = []
        for force, used in zip(self.forces.T, self.used.T, strict=True):
            above = force > self.force_on
            for k in range(apart, len(force) - looked):
                if not above[k] or above[k - apart : k].any():
                    continue
                if used[k]:
                    first = k - int(np.argmin(used[k::-1])) + 1
                else:
                    first = k + (int(np.argmax(used[k : k + looked])) or looked)
                found.append(1e3 * (first - k) / self.rate)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["gaits", "crawl"], choices=["gaits", "crawl"])
    parser.add_argument("--robots", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--sources", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--gaits", nargs="+", default=list(GAITS), choices=list(GAITS))
    parser.add_argument("--observers", nargs="+", default=["two_stage", "kalman"], help="of the gaits")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--duration", type=float, default=16.0, help="of each gait [s]")
    parser.add_argument("--walked", type=float, default=20.0, help="crawl after the load has come [s]")
    parser.add_argument("--unlike", action="store_true", help="a crawling robot unlike its description")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    for robot in arguments.robots:
        for seed in seeds if "gaits" in arguments.parts else ():
            gaits(robot, seed, arguments)
        for seed in seeds if "crawl" in arguments.parts else ():
            for source in arguments.sources:
                title = f"{robot} crawl under load{', unlike its file' if arguments.unlike else ''}"
                report(f"{title}, seed {seed}, {source}", crawl(robot, source, seed, arguments))


def gaits(robot: str, seed: int, arguments: argparse.Namespace) -> None:
    """Report the synthetic gaits of one robot."""
    config, setup, posture = quadruped(robot)
    for number, (name, (gait, sensors)) in enumerate(GAITS.items()):
        if name not in arguments.gaits:
            continue
        rng = np.random.default_rng([seed + 1, number])
        gait = replace(gait, stride_hz=STRIDES[robot] * gait.stride_hz)
        motion = gait_motion(gait, feet_at_rest(setup, posture), arguments.duration, RATE_HZ, rng)
        sensors = replace(sensors, effort_noise=LEVER, effort_friction=LEVER)
        readings = gait_readings(setup, posture, motion, sensors, rng)
        for observer in arguments.observers:
            for source in arguments.sources:
                contact = replace(config.contact, source=source)
                chosen = replace(config, observer=observer, contact=contact)
                outcome = estimated(chosen, setup, readings)
                report(f"{robot} {name}, seed {seed}, {observer}, {source}", outcome)


def estimated(config: TiltPipelineConfig, setup: RobotSetup, readings: GaitReadings) -> Outcome:
    """Run the observer over a synthetic gait."""
    estimator, h = BaseStateEstimator(config, setup), float(readings.times_s[1])
    tilts, used = np.full((len(readings.times_s), 3), np.nan), []
    sensed = config.contact.sensed
    for k in range(len(tilts)):
        wrenches, tau = (numbers(readings.wrenches[k]), None) if sensed else (None, readings.tau[k])
        stamp_ns = NANOSECONDS + round(k * h * NANOSECONDS)
        joints = readings.q[k], readings.v[k]
        if estimator.step(stamp_ns, h, readings.imu[k], joints, wrenches, None, tau) is not None:
            tilts[k] = estimator.observer.x2
        used.append([name in estimator.contacts for name in setup.contact_names])
    begun = readings.times_s > BEGUN_S
    error = errors(tilts, readings)[begun]
    return Outcome(error, readings.forces[begun], np.array(used)[begun], RATE_HZ, config.contact.force_on)


def crawl(robot: str, source: str, seed: int, arguments: argparse.Namespace) -> Outcome:
    """Let a simulated robot crawl on its estimates."""
    trunk, weight, place, stride = LOADS[robot]
    own: Overrides = {
        INERTIAL_NODE: {"hand_over_rate": 30.0},
        TILT_NODE: {"contact.source": source},
        SIMULATOR_NODE: {"sensors.wrenches": source == "wrench"},
    }
    builder = RobotLoop(robot, own)
    urdf, unlike = perturbed_robot(builder, seed) if arguments.unlike else ("", {})
    load = load_on_trunk(builder.inertial().robot, trunk, weight, np.array(place), LOAD_S)
    loop = builder.build(overrides=unlike, disturbances=[load], seed=seed, true_urdf=urdf)
    loop.release(HOIST_S)
    watch = _Watch(loop)
    loop.run(STANDS_S, watch.tick)
    loop.controller.push_walk_command(WalkCommand(SWINGS, stride))
    loop.run(LOAD_S - STANDS_S + arguments.walked, watch.tick)
    return watch.outcome()


class _Watch:
    """Compares the base estimates of a loop with the truth."""

    def __init__(self, loop: ClosedLoop) -> None:
        assert loop.tilt is not None
        self._loop, self._tilt = loop, loop.tilt
        self._errors: list[float] = []
        self._forces: list[list[float]] = []
        self._used: list[list[bool]] = []

    def tick(self, loop: ClosedLoop) -> None:
        """Called after every tick of the loop."""
        truth, base, names = loop.simulation.truth(), loop.base, self._tilt.contacts
        assert base is not None
        up = np.array(rotation_from_quaternion(truth.base.quaternion_xyzw))[2]
        same = base.state.stamp_ns == truth.stamp_ns
        angle = np.degrees(angles_between(up[None], base.tilt_B[None])[0])
        self._errors.append(angle if same else np.nan)
        self._forces.append([float(np.linalg.norm(truth.wrenches_C[name][:3])) for name in names])
        self._used.append([name in base.contacts for name in names])

    def outcome(self) -> Outcome:
        """Return what was seen."""
        simulation, on = self._loop.simulation, self._tilt.config.contact.force_on
        rate, fell = NANOSECONDS / simulation.period_ns, simulation.fallen
        return Outcome(np.array(self._errors), np.array(self._forces), np.array(self._used), rate, on, fell)


def report(title: str, outcome: Outcome) -> None:
    delays, air = outcome.delays(), outcome.forces <= 0.0
    said = "no touchdown"
    if delays:
        p50, p95 = np.percentile(delays, [50.0, 95.0])
        said = f"{len(delays):3d} touchdowns, delay p50 {p50:4.0f} p95 {p95:4.0f} ms"
    false = 100.0 * outcome.used[air].mean() if air.any() else np.nan
    rms = np.sqrt(np.nanmean(outcome.tilt**2))
    fell = ", FELL" if outcome.fell else ""
    print(f"{title:64s} tilt {rms:.3f} deg rms, {said}, false {false:.1f} %{fell}", flush=True)


if __name__ == "__main__":
    main()

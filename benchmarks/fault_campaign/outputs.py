"""What a pipeline puts out, as numbers that can be judged: one adapter for each pipeline."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from benchmarks.fault_campaign.scenes import Recorded
from inertial_estimation.control.control_result import ControlState
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial.rotations import rotation_from_quaternion

ROTATION_TOLERANCE = 1e-9
SYMMETRY_TOLERANCE = 1e-9
TOLERANCE = 1e-9  # of eigenvalues, of the largest one
TORQUE_TOLERANCE = 1e-3  # of the limit


class Adapter(ABC):
    """Feeds one pipeline and reads its results.

    Attributes:
        wrong: Error from which an estimate counts as wrong (2 deg, 10 % of a mass).
        recovered: Error within which it counts as recovered (1 deg, 5 % of a mass).
        unit: Unit of the error.
    """

    wrong: ClassVar[float]
    recovered: ClassVar[float]
    unit: ClassVar[str]

    def __init__(self, pipeline: Any, data: Recorded) -> None:
        self.pipeline, self.data = pipeline, data

    def push(self, stream: str) -> Callable[[Any], Any]:
        """Return what takes the samples of a stream."""
        kind, _, name = stream.partition(":")
        if kind == "wrench":
            return lambda sample: self.pipeline.push_wrench(name, sample)
        if kind == "inertia":
            return lambda sample: self.pipeline.push_inertia(sample.stamp_ns, sample.inertia)
        names = {"walk": "walk_command"}
        method: Callable[[Any], Any] = getattr(self.pipeline, f"push_{names.get(kind, kind)}")
        return method

    @property
    def period_s(self) -> float:
        """Period of the pipeline's steps [s]."""
        return 1.0 / float(self.pipeline.config.rate)

    def keep(self, result: Any) -> Any:
        """Return what is judged of a result, taken when it is put out."""
        return result

    @abstractmethod
    def numbers(self, result: Any) -> list[Any]:
        """Return every number of a result that has to be finite."""

    @abstractmethod
    def flaws(self, results: Sequence[Any]) -> list[str]:
        """Name what is physically inconsistent in finite results; empty where nothing is."""

    @abstractmethod
    def estimate(self, result: Any) -> Array:
        """Return the vector whose error is judged."""

    @abstractmethod
    def error(self, estimates: Array, expected: Array) -> Array:
        """Return the error of estimates, shape (n, k), against expected ones, shape (n, k): shape (n,)."""

    @abstractmethod
    def truth(self, stamps_ns: Array) -> Array | None:
        """Return the true vectors at some times, shape (n, k); None where there is no truth."""

    def published(self, result: Any) -> Array:
        """Return the masses that a controller is given, shape (k,); empty without masses."""
        return np.zeros(0)


class TiltAdapter(Adapter):
    """The vertical in the base frame."""

    wrong, recovered, unit = 2.0, 1.0, "deg"

    def numbers(self, result: Any) -> list[Any]:
        state = result.state
        return [
            *(state.quaternion_xyzw, state.p_WB, state.v_WB_B, state.w_WB_B),
            *(result.tilt_B, result.gyro_bias_I, result.innovation_I, result.tilt_covariance_B),
        ]

    def flaws(self, results: Sequence[Any]) -> list[str]:
        found = []
        for result in results:
            q = result.state.quaternion_xyzw
            R = np.array(rotation_from_quaternion(q))
            if (
                abs(q @ q - 1.0) > ROTATION_TOLERANCE
                or np.abs(R @ R.T - np.eye(3)).max() > ROTATION_TOLERANCE
            ):
                found.append(f"quaternion of norm {np.sqrt(q @ q):.12g}")
            elif abs(result.tilt_B @ result.tilt_B - 1.0) > ROTATION_TOLERANCE:
                found.append(f"vertical of norm {np.sqrt(result.tilt_B @ result.tilt_B):.12g}")
        return found or covariance_flaws("tilt", [result.tilt_covariance_B for result in results])

    def estimate(self, result: Any) -> Array:
        return np.asarray(result.tilt_B)

    def error(self, estimates: Array, expected: Array) -> Array:
        cross = np.linalg.norm(np.cross(estimates, expected), axis=1)
        return np.degrees(np.arctan2(cross, (estimates * expected).sum(axis=1)))

    def truth(self, stamps_ns: Array) -> Array:
        relative = self.data.stamps_ns - self.data.stamps_ns[0]
        at = stamps_ns - self.data.stamps_ns[0]
        up = np.column_stack([np.interp(at, relative, column) for column in self.data.up_B.T])
        return up / np.linalg.norm(up, axis=1, keepdims=True)


class _MassAdapter(Adapter):
    """Masses, as a share of the true ones."""

    wrong, recovered, unit = 10.0, 5.0, "%"

    def error(self, estimates: Array, expected: Array) -> Array:
        masses = self.truth(np.zeros(1))[0]
        return 100.0 * np.abs((estimates - expected) / np.tile(masses, 2)[: estimates.shape[1]]).max(axis=1)

    def truth(self, stamps_ns: Array) -> Array:
        masses = np.array(list(self.data.masses.values()))
        return np.tile(masses, (len(stamps_ns), 2))


class InertialAdapter(_MassAdapter):
    """Published and estimated masses of all links whose truth is known."""

    def numbers(self, result: Any) -> list[Any]:
        found = [result.innovation, result.nis, result.information_eigenvalues, *result.friction.values()]
        for link in result.links:
            found += [link.covariance]
            for inertia in (link.published, link.estimate, link.payload):
                found += [inertia.mass, inertia.com_L, inertia.inertia_Lcm]
        return found

    def flaws(self, results: Sequence[Any]) -> list[str]:
        found = []
        for links in zip(*(result.links for result in results), strict=True):
            name = links[0].published.link
            found += inertia_flaws(f"published {name}", [link.published for link in links])
            found += inertia_flaws(f"estimated {name}", [link.estimate for link in links])
            found += covariance_flaws(name, [link.covariance for link in links])
        return found

    def estimate(self, result: Any) -> Array:
        by_name = {link.published.link: link for link in result.links}
        chosen = [by_name[name] for name in self.data.masses]
        return np.array([*(link.published.mass for link in chosen), *(link.estimate.mass for link in chosen)])

    def published(self, result: Any) -> Array:
        return self.estimate(result)[: len(self.data.masses)]


class PayloadAdapter(_MassAdapter):
    """Published and identified mass of the trunk."""

    def numbers(self, result: Any) -> list[Any]:
        found = [] if np.isinf(result.mass_sigma) else [result.mass_sigma]
        for inertia in (result.trunk, result.estimate, result.payload):
            found += [inertia.mass, inertia.com_L, inertia.inertia_Lcm]
        if result.change is not None:
            found += [result.change.mass_measured, result.change.shift_B]
        if result.reference is not None:
            found += [result.reference.height, result.reference.roll, result.reference.pitch]
        return found

    def flaws(self, results: Sequence[Any]) -> list[str]:
        found = inertia_flaws("published trunk", [result.trunk for result in results])
        return found + inertia_flaws("identified trunk", [result.estimate for result in results])

    def estimate(self, result: Any) -> Array:
        return np.array([result.trunk.mass, result.estimate.mass])

    def published(self, result: Any) -> Array:
        return np.array([result.trunk.mass])


class ControllerAdapter(Adapter):
    """Whether the torques control the robot: error 0, or only damp it: error 1."""

    wrong, recovered, unit = 0.5, 0.5, "damping"

    def __init__(self, pipeline: Any, data: Recorded) -> None:
        super().__init__(pipeline, data)
        self._limits = pipeline.config.torque_scale * joint_limits(pipeline.robot).effort

    def keep(self, result: Any) -> Any:
        last = self.pipeline.last
        damping = last is None or last.state is not ControlState.CONTROL
        return result, damping

    def numbers(self, result: Any) -> list[Any]:
        return [result[0].tau]

    def flaws(self, results: Sequence[Any]) -> list[str]:
        found = []
        for command, _ in results:
            share = np.abs(command.tau) / self._limits
            if share.max() > 1.0 + TORQUE_TOLERANCE:
                joint = int(share.argmax())
                found.append(f"torque of {command.names[joint]}: {share[joint]:.3g} times its limit")
        return found

    def estimate(self, result: Any) -> Array:
        return np.array([float(result[1])])

    def error(self, estimates: Array, expected: Array) -> Array:
        return np.asarray(estimates[:, 0])

    def truth(self, stamps_ns: Array) -> None:
        return None


ADAPTERS: dict[str, type[Adapter]] = {
    "tilt": TiltAdapter,
    "inertial": InertialAdapter,
    "payload": PayloadAdapter,
    "controller": ControllerAdapter,
}


def covariance_flaws(name: str, covariances: Sequence[Array]) -> list[str]:
    """Judge covariances of one quantity: symmetric, and positive semidefinite at a unit diagonal."""
    if not covariances:
        return []
    P = np.array(covariances)
    scale = np.maximum(np.abs(P).max(axis=(1, 2)), 1e-300)
    found = []
    if (np.abs(P - P.transpose(0, 2, 1)).max(axis=(1, 2)) > SYMMETRY_TOLERANCE * scale).any():
        found.append(f"covariance of {name} is not symmetric")
    deviation = np.sqrt(np.maximum(np.diagonal(P, axis1=1, axis2=2), 1e-300))
    lowest = np.linalg.eigvalsh(P / (deviation[:, :, None] * deviation[:, None, :]))[:, 0].min()
    return [*found, f"covariance of {name} has the eigenvalue {lowest:.2g}"] if lowest < -TOLERANCE else found


def inertia_flaws(name: str, inertias: Sequence[LinkInertia]) -> list[str]:
    """Judge pseudo-inertias: mass positive, second moments about the centre of mass positive semidefinite."""
    if not inertias:
        return []
    mass = min(inertia.mass for inertia in inertias)
    moments = np.array([inertia.inertia_Lcm for inertia in inertias])
    trace = np.trace(moments, axis1=1, axis2=2)
    second = 0.5 * trace[:, None, None] * np.eye(3) - moments
    lowest = np.linalg.eigvalsh(0.5 * (second + second.transpose(0, 2, 1)))[:, 0]
    found = [] if mass > 0.0 else [f"{name} has the mass {mass:.3g} kg"]
    if (lowest < -TOLERANCE * np.maximum(trace, 1e-12)).any():
        found.append(f"{name} has the second moment {lowest.min():.2g} kg m^2")
    return found

"""The public face of the pipelines: how each is fed, and what it puts out as numbers that can be judged."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple
from xml.etree import ElementTree

import numpy as np

from benchmarks.fault_campaign.scenes import Recorded
from inertial_estimation.signals import Array, LinkInertia

UNIT_TOLERANCE = 1e-9  # of the norm of unit vectors
MATRIX_TOLERANCE = 1e-9  # of symmetry and eigenvalues, at a unit diagonal
TORQUE_TOLERANCE = 1e-3  # of the limit


class Content(NamedTuple):
    """What a result publishes: numbers that have to be finite, and more that is required of some of them."""

    finite: Sequence[Any]
    units: Mapping[str, Array] = {}  # of norm one
    matrices: Mapping[str, Array] = {}  # symmetric, positive semidefinite
    shares: Mapping[str, Array] = {}  # at most one

    @property
    def is_finite(self) -> bool:
        """Whether every number is finite."""
        values = [*self.finite, *self.units.values(), *self.matrices.values(), *self.shares.values()]
        return bool(np.isfinite(np.concatenate([np.ravel(value) for value in values])).all())


def flaws(contents: Sequence[Content]) -> list[str]:
    """Name what is physically inconsistent in finite contents of one pipeline; empty where nothing is."""
    first = contents[0] if contents else Content(())
    found = []
    for name in first.units:
        norms = np.linalg.norm([content.units[name] for content in contents], axis=1)
        if (np.abs(norms - 1.0) > UNIT_TOLERANCE).any():
            found.append(f"{name}: norm {norms.min():.12g} to {norms.max():.12g}")
    for name in first.matrices:
        P = np.array([content.matrices[name] for content in contents])
        deviation = np.sqrt(np.maximum(np.diagonal(P, axis1=1, axis2=2), 1e-300))
        scaled = P / (deviation[:, :, None] * deviation[:, None, :])
        lowest = np.linalg.eigvalsh(scaled)[:, 0].min()
        skew = np.abs(scaled - scaled.transpose(0, 2, 1)).max()
        if lowest < -MATRIX_TOLERANCE or skew > MATRIX_TOLERANCE:
            found.append(f"{name}: eigenvalue {lowest:.2g}, asymmetry {skew:.2g}")
    for name in first.shares:
        most = max(float(np.max(content.shares[name])) for content in contents)
        found += [f"{name}: {most:.3g} of the limit"] if most > 1.0 + TORQUE_TOLERANCE else []
    return found


def pseudo_inertia(inertia: LinkInertia) -> Array:
    """Return the second moments about the centre of mass, and the mass, shape (4, 4).

    They are positive semidefinite exactly where a body can have the inertia.
    """
    found = np.zeros((4, 4))
    found[:3, :3] = 0.5 * np.trace(inertia.inertia_Lcm) * np.eye(3) - inertia.inertia_Lcm
    found[3, 3] = inertia.mass
    return found


class Adapter(ABC):
    """One pipeline with the truth of its data.

    Attributes:
        pipeline: The pipeline.
        data: The data and their truth.
    """

    unit: ClassVar[str]  # of the error

    def __init__(self, pipeline: Any, data: Recorded, urdf: str = "") -> None:
        self.pipeline, self.data, self.urdf = pipeline, data, urdf

    def push(self, stream: str) -> Callable[[Any], Any]:
        """Return what takes the samples of a stream."""
        kind, _, name = stream.partition(":")
        if kind == "wrench":
            return lambda sample: self.pipeline.push_wrench(name, sample)
        if kind == "inertia":
            return lambda sample: self.pipeline.push_inertia(sample.stamp_ns, sample.inertia)
        method: Callable[[Any], Any] = getattr(self.pipeline, f"push_{kind}")
        return method

    def stamp_ns(self, result: Any) -> int:
        """Return the stamp of a result [ns]."""
        return int(result.stamp_ns)

    @abstractmethod
    def content(self, result: Any) -> Content:
        """Return what a result publishes."""

    @abstractmethod
    def estimate(self, result: Any) -> Array:
        """Return the vector whose error is judged: what is published, then what is estimated besides."""

    @abstractmethod
    def error(self, estimates: Array, expected: Array) -> Array:
        """Return the error of estimates, shape (n, k), against expected ones, shape (n, k): shape (n,)."""

    def truth(self, stamps_ns: Array) -> Array | None:
        """Return the true vectors at some times, shape (n, k); None where there is no truth."""
        return None

    @property
    def masses(self) -> Array:
        """True masses of the bodies whose masses are published [kg]; empty: it publishes none."""
        return np.zeros(0)

    def published(self, estimates: Array) -> Array:
        """Return the part of judged vectors, shape (n, k), that is published: shape (n, m)."""
        return estimates[:, : len(self.masses) or None]

    def take_as_truth(self, stamps_ns: Array, estimates: Array) -> None:
        """Take the estimates from clean data as their truth, where there is none."""


class TiltAdapter(Adapter):
    """The vertical in the base frame."""

    unit = "deg"

    def stamp_ns(self, result: Any) -> int:
        return int(result.state.stamp_ns)

    def content(self, result: Any) -> Content:
        state = result.state
        units = {"quaternion": state.quaternion_xyzw, "vertical": result.tilt_B}
        others = (state.p_WB, state.v_WB_B, state.w_WB_B, result.gyro_bias_I)
        return Content(others, units, {"covariance of the tilt": result.tilt_covariance_B})

    def estimate(self, result: Any) -> Array:
        return np.asarray(result.tilt_B)

    def error(self, estimates: Array, expected: Array) -> Array:
        cross = np.linalg.norm(np.cross(estimates, expected), axis=1)
        return np.degrees(np.arctan2(cross, (estimates * expected).sum(axis=1)))

    def truth(self, stamps_ns: Array) -> Array | None:
        if not len(self.data.up_B):
            return None
        first = self.data.stamps_ns[0]
        relative, at = self.data.stamps_ns - first, stamps_ns - first
        up = np.column_stack([np.interp(at, relative, column) for column in self.data.up_B.T])
        return up / np.linalg.norm(up, axis=1, keepdims=True)

    def take_as_truth(self, stamps_ns: Array, estimates: Array) -> None:
        if not len(self.data.up_B):
            self.data = replace(self.data, stamps_ns=stamps_ns, up_B=estimates)


class MassAdapter(Adapter):
    """Masses, as a share of the true ones: those published, then those estimated."""

    unit = "%"

    @property
    def masses(self) -> Array:
        return np.array(list(self.data.masses.values()))

    def error(self, estimates: Array, expected: Array) -> Array:
        masses = np.resize(self.masses, estimates.shape[1])
        return 100.0 * np.abs((estimates - expected) / masses).max(axis=1)

    def truth(self, stamps_ns: Array) -> Array | None:
        return np.tile(self.masses, (len(stamps_ns), 2))


class InertialAdapter(MassAdapter):
    """Published and estimated masses of all links whose truth is known."""

    def content(self, result: Any) -> Content:
        matrices, others = {}, list(result.friction.values())
        for link in result.links:
            name = link.published.link
            matrices[f"covariance of {name}"] = link.covariance
            matrices[f"published {name}"] = pseudo_inertia(link.published)
            matrices[f"estimated {name}"] = pseudo_inertia(link.estimate)
            others += [link.published.com_L, link.estimate.com_L]
        return Content(others, {}, matrices)

    def estimate(self, result: Any) -> Array:
        by_name = {link.published.link: link for link in result.links}
        chosen = [by_name[name] for name in self.data.masses or by_name]
        return np.array([*(link.published.mass for link in chosen), *(link.estimate.mass for link in chosen)])

    def take_as_truth(self, stamps_ns: Array, estimates: Array) -> None:
        if not self.data.masses:
            names = self.pipeline.config.links
            self.data = replace(self.data, masses=dict(zip(names, estimates[-1], strict=False)))


class PayloadAdapter(MassAdapter):
    """Published and identified mass of the trunk."""

    def content(self, result: Any) -> Content:
        names = {"published trunk": result.trunk, "identified trunk": result.estimate}
        reference = result.reference
        asked = [] if reference is None else [reference.height, reference.roll, reference.pitch]
        others = [result.payload.mass, *(inertia.com_L for inertia in names.values()), *asked]
        return Content(others, {}, {name: pseudo_inertia(inertia) for name, inertia in names.items()})

    def estimate(self, result: Any) -> Array:
        return np.array([result.trunk.mass, result.estimate.mass])


class ControllerAdapter(Adapter):
    """Whether the torques control the robot: error 0, or only damp it: error 1."""

    unit = "damping"

    def __init__(self, pipeline: Any, data: Recorded, urdf: str = "") -> None:
        super().__init__(pipeline, data, urdf)
        tags = {
            joint.get("name"): joint.find("limit") for joint in ElementTree.fromstring(urdf).iter("joint")
        }
        self._limits = {
            name: float(tag.get("effort", "inf")) for name, tag in tags.items() if tag is not None
        }

    def content(self, result: Any) -> Content:
        limits = np.array([self._limits[name] for name in result.names])
        return Content((), {}, {}, {"torque": np.abs(result.tau) / limits})

    def estimate(self, result: Any) -> Array:
        last = self.pipeline.last
        return np.array([float(last is None or last.state.name != "CONTROL")])

    def error(self, estimates: Array, expected: Array) -> Array:
        return np.asarray(estimates[:, 0])


ADAPTERS: dict[str, type[Adapter]] = {
    "tilt": TiltAdapter,
    "inertial": InertialAdapter,
    "payload": PayloadAdapter,
    "controller": ControllerAdapter,
}

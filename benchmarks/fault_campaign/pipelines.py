"""The pipelines: how each is fed, what it puts out as numbers to be judged, and what is wrong with them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.fault_campaign.scenes import Recorded
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.robot_inputs import BASE_STATE, YAW_REFERENCE
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.signals import Array, LinkInertia

NAMES = {"imu": IMU, "joints": JOINTS, "base_state": BASE_STATE, "yaw_reference": YAW_REFERENCE}

TOLERANCE = {"unit": 1e-9, "matrix": 1e-9, "share": 1e-3}
Content = Mapping[str, Any]  # what a result publishes; the first word of a name may be one of TOLERANCE


def flaws(contents: Sequence[Content]) -> list[str]:
    """Name what is not finite or physically inconsistent in the contents of results; empty where nothing is.

    Units have the norm one, matrices are symmetric and positive semidefinite, shares at most one.
    """
    found = []
    for name in contents[0] if contents else ():
        every = np.array([content[name] for content in contents], dtype=float)
        rows = every[np.isfinite(every).reshape(len(every), -1).all(axis=1)]
        kind, off = name.partition(" ")[0], np.zeros(len(rows))
        if kind == "unit":
            off = np.abs(np.linalg.norm(rows, axis=1) - 1.0)
        elif kind == "share":
            off = rows.max(axis=1) - 1.0
        elif kind == "matrix":
            deviation = np.sqrt(np.maximum(np.diagonal(rows, axis1=1, axis2=2), 1e-300))
            P = rows / (deviation[:, :, None] * deviation[:, None, :])
            skew = np.abs(P - P.transpose(0, 2, 1)).max(axis=(1, 2))
            off = np.maximum(skew, -np.linalg.eigvalsh(P)[:, 0])
        if len(rows) < len(every):
            found.append(f"{name}: {len(every) - len(rows)} not finite")
        if off.max(initial=0.0) > TOLERANCE.get(kind, 0.0):
            found.append(f"{name}: off by {off.max():.2g}")
    return found


def _inertia(what: str, inertia: LinkInertia) -> Content:
    """Return the content of an inertia that is put out.

    Second moments about the centre of mass, and the mass, shape (4, 4), are positive semidefinite exactly
    where a body can have the inertia.
    """
    moments = np.zeros((4, 4))
    moments[:3, :3] = 0.5 * np.trace(inertia.inertia_Lcm) * np.eye(3) - inertia.inertia_Lcm
    moments[3, 3] = inertia.mass
    return {f"matrix of {what} {inertia.link}": moments, f"{what} centre of {inertia.link}": inertia.com_L}


class Adapter(ABC):
    """One pipeline with its data and their truth.

    Attributes:
        wrong: Error from which on an estimate is wrong.
        right: Error below which it has recovered.
    """

    wrong: float
    right: float

    def __init__(self, pipeline: Any, data: Recorded, urdf: str = "") -> None:
        self.pipeline, self.data, self.urdf = pipeline, data, urdf

    def push(self, stream: str) -> Callable[[Any, int], Any]:
        """Return what takes the samples of a stream, and their arrivals on the clock of the node [ns]."""
        kind, _, name = stream.partition(":")
        inputs = self.pipeline.inputs
        if kind == "wrench":
            return partial(inputs.push, f"{name}/wrench")
        if kind in NAMES:
            return partial(inputs.push, NAMES[kind])
        if kind == "inertia":
            return lambda sample, _at: self.pipeline.push_inertia(sample.stamp_ns, sample.inertia)
        return lambda sample, _at: getattr(self.pipeline, f"push_{kind}")(sample)

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
        """Masses of the bodies whose masses are published [kg]; empty: it publishes none."""
        return np.zeros(0)

    def published(self, estimates: Array) -> Array:
        """Return the part of judged vectors, shape (n, k), that is published: shape (n, m)."""
        return estimates[:, : len(self.masses) or None]


class TiltAdapter(Adapter):
    """The vertical in the base frame; errors in degrees."""

    wrong, right = 2.0, 1.0

    def stamp_ns(self, result: Any) -> int:
        return int(result.state.stamp_ns)

    def content(self, result: Any) -> Content:
        state = result.state
        content = {"unit quaternion": state.quaternion_xyzw, "unit vertical": result.tilt_B}
        content |= {"matrix of the tilt": result.tilt_covariance_B, "gyro bias": result.gyro_bias_I}
        return {**content, "position": state.p_WB, "twist": [state.v_WB_B, state.w_WB_B]}

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


class InertialAdapter(Adapter):
    """Masses of all links whose truth is known, those published, then those estimated; errors in percent."""

    wrong, right = 10.0, 5.0

    def content(self, result: Any) -> Content:
        content: dict[str, Any] = {"friction": list(result.friction.values())}
        for link in result.links:
            content[f"matrix of {link.published.link}"] = link.covariance
            content |= {**_inertia("published", link.published), **_inertia("estimated", link.estimate)}
        return content

    def estimate(self, result: Any) -> Array:
        by_name = {link.published.link: link for link in result.links}
        chosen = [by_name[name] for name in self.data.masses]
        return np.array([*(link.published.mass for link in chosen), *(link.estimate.mass for link in chosen)])

    @property
    def masses(self) -> Array:
        return np.array(list(self.data.masses.values()))

    def error(self, estimates: Array, expected: Array) -> Array:
        masses = np.resize(self.masses, estimates.shape[1])
        return 100.0 * np.abs((estimates - expected) / masses).max(axis=1)

    def truth(self, stamps_ns: Array) -> Array | None:
        return np.tile(self.masses, (len(stamps_ns), 2))


class PayloadAdapter(InertialAdapter):
    """Published and identified mass of the trunk."""

    def content(self, result: Any) -> Content:
        asked = result.reference
        reference = 0.0 if asked is None else asked.height + asked.roll + asked.pitch
        inertias = {**_inertia("published", result.trunk), **_inertia("identified", result.estimate)}
        return {**inertias, "payload": result.payload.mass, "reference": reference}

    def estimate(self, result: Any) -> Array:
        return np.array([result.trunk.mass, result.estimate.mass])


class ControllerAdapter(Adapter):
    """Whether the torques control the robot: error 0, or only damp it: error 1."""

    wrong, right = 0.5, 0.5

    def __init__(self, pipeline: Any, data: Recorded, urdf: str = "") -> None:
        super().__init__(pipeline, data, urdf)
        joints = ElementTree.fromstring(urdf).findall("joint[limit]")
        self._limits = {j.get("name"): float(j.find("limit").get("effort", "inf")) for j in joints}

    def content(self, result: Any) -> Content:
        limits = np.array([self._limits[name] for name in result.names])
        return {"share of the largest torque": np.abs(result.tau) / limits}

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

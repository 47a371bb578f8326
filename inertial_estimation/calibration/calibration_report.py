"""Result of a calibration: offsets with deviations, identifiability, residuals before and after."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from inertial_estimation.signals import Array, Identifiability
from inertial_estimation.spatial.rotations import DEGREES

DISPLAY_UNITS = {"m": (1e3, "mm"), "rad": (DEGREES, "deg")}  # factor and name of the unit in reports


@dataclass(frozen=True)
class JointOffset:
    """Offset of one joint, to be added to its measured position."""

    joint: str
    offset: float  # [rad], for a prismatic joint [m]
    sigma: float  # standard deviation, prior included [rad or m]
    identifiability: Identifiability
    unit: str  # "rad", or "m" for a prismatic joint

    def values(self) -> dict[str, Any]:
        """Return the values for a JSON file, with units in the names: rad and deg, or m and mm."""
        factor, unit = DISPLAY_UNITS[self.unit]
        return {
            "joint": self.joint,
            f"offset_{self.unit}": self.offset,
            f"offset_{unit}": factor * self.offset,
            f"sigma_{unit}": factor * self.sigma,
            "identifiability": self.identifiability,
        }


@dataclass(frozen=True)
class ChannelError:
    """Root mean square of one kind of residual [m or rad]; None if it was not computed.

    Written offsets are those that are known well enough; nuisances are always fitted. Left-out samples are
    predicted with offsets and nuisances fitted to the other samples.
    """

    name: str
    unit: str  # "m" or "rad"
    before: float  # on the fitted samples with zero offsets
    after: float  # on the fitted samples with all unknowns fitted
    written: float  # on the fitted samples with only the written offsets
    leave_one_out: float | None = None  # each sample predicted by a calibration without it
    left_out_before: float | None = None  # samples left out with their neighbours, zero offsets
    left_out_written: float | None = None  # the same with only the written offsets
    held_out_before: float | None = None  # on the held-out samples with zero offsets
    held_out: float | None = None  # on the held-out samples after the calibration
    held_out_written: float | None = None  # on the held-out samples with only the written offsets

    def values(self) -> dict[str, Any]:
        """Return the errors in the unit of reports, mm or deg."""
        factor, unit = DISPLAY_UNITS[self.unit]
        errors = {name: value for name, value in asdict(self).items() if name not in ("name", "unit")}
        return {"unit": unit, **{name: v if v is None else factor * v for name, v in errors.items()}}


@dataclass(frozen=True, eq=False)
class CalibrationReport:
    """Results of a calibration."""

    kind: str  # "flat-feet", "plane" or "marker"
    joints: tuple[JointOffset, ...]  # in the model's order
    rank: int  # number of combinations of offsets that the samples determine
    channels: tuple[ChannelError, ...]
    noise: Mapping[str, float]  # noise level by channel, estimated from the residuals
    samples: int  # number of fitted samples
    held_out: int  # number of held-out samples
    outliers: int  # number of samples with reduced weights
    heights_before: Array  # heights for the figure with zero offsets, all samples, shape (K, c) [m]
    written_heights: Array  # the same with only the written offsets
    is_held_out: Array  # whether each sample is held out of the fit, shape (K,)
    converged: bool  # whether the iteration converged
    warnings: tuple[str, ...]  # suspicious properties of data or result, one sentence each
    written_joints: tuple[str, ...]  # joints whose offsets are written

    @property
    def written(self) -> tuple[JointOffset, ...]:
        """Offsets of the written joints."""
        return tuple(j for j in self.joints if j.joint in self.written_joints)

    def values(self) -> dict[str, Any]:
        """Return all but the figure for a JSON file; names contain the units, degrees and millimetres."""
        left_out = ("channels", "heights_before", "written_heights", "is_held_out")
        return {
            **{name: value for name, value in vars(self).items() if name not in left_out},
            "joints": [{**one.values(), "written": one.joint in self.written_joints} for one in self.joints],
            "errors_rms": {channel.name: channel.values() for channel in self.channels},
        }

"""Result of a calibration: offsets with deviations, identifiability, residuals before and after."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from inertial_estimation.calibration.solver import OffsetIdentifiability
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import DEGREES

DISPLAY_UNITS = {"m": (1e3, "mm"), "rad": (DEGREES, "deg")}  # factor and name of the unit shown to people


@dataclass(frozen=True)
class JointOffset:
    """Offset of one joint, to be added to its measured position."""

    joint: str
    offset: float  # [rad], of a prismatic joint [m]
    sigma: float  # standard deviation, the prior included [rad or m]
    identifiability: OffsetIdentifiability
    unit: str  # "rad", or "m" of a prismatic joint

    def values(self) -> dict[str, Any]:
        """Return it for a JSON file, with the units in the names: rad and deg, or m and mm."""
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
    """Root mean square of one kind of residual [m or rad]; None for what was not computed.

    Written offsets are those that are known well enough; nuisances are always fitted. What is left out is
    predicted with offsets and nuisances from the other samples.
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
        """Return it in the unit that is shown to people."""
        factor, unit = DISPLAY_UNITS[self.unit]
        errors = {name: value for name, value in asdict(self).items() if name not in ("name", "unit")}
        return {"unit": unit, **{name: v if v is None else factor * v for name, v in errors.items()}}


@dataclass(frozen=True, eq=False)
class CalibrationReport:
    """Results of a calibration."""

    kind: str  # "flat-feet", "plane" or "marker"
    joints: tuple[JointOffset, ...]  # in the model's order
    rank: int  # number of combinations of offsets the samples determine
    channels: tuple[ChannelError, ...]
    noise: Mapping[str, float]  # level by channel, estimated from the residuals
    samples: int  # fitted
    held_out: int
    outliers: int  # samples with reduced weights
    heights_before: Array  # of the figure with zero offsets, all samples, shape (K, c) [m]
    written_heights: Array  # the same with only the written offsets
    is_held_out: Array  # which rows of these are held out of the fit, shape (K,)
    converged: bool
    warnings: tuple[str, ...]  # suspicious properties of data or result, one sentence each
    written_joints: tuple[str, ...]  # joints whose offsets are written

    @property
    def written(self) -> tuple[JointOffset, ...]:
        """Offsets that are written."""
        return tuple(j for j in self.joints if j.joint in self.written_joints)

    def values(self) -> dict[str, Any]:
        """Return all but the figure for a JSON file; names contain the units, degrees and millimetres."""
        left_out = ("channels", "heights_before", "written_heights", "is_held_out")
        return {
            **{name: value for name, value in vars(self).items() if name not in left_out},
            "joints": [{**one.values(), "written": one.joint in self.written_joints} for one in self.joints],
            "errors_rms": {channel.name: channel.values() for channel in self.channels},
        }

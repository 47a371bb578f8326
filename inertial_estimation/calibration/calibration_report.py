"""Result of a calibration: offsets with deviations, identifiability, residuals before and after."""

from collections.abc import Mapping
from dataclasses import dataclass

from inertial_estimation.calibration.identifiability import OffsetIdentifiability
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import DEGREES

DISPLAY_UNITS = {"m": (1e3, "mm"), "rad": (DEGREES, "deg")}  # factor and name of the unit shown to people


@dataclass(frozen=True, slots=True)
class JointOffset:
    """Offset of one joint, to be added to its measured position.

    Attributes:
        joint: Its name.
        offset: [rad], of a prismatic joint [m].
        sigma: Standard deviation, the prior included [rad or m].
        identifiability: Its identifiability from the samples.
        at_bound: Whether the offset is at its bound.
        unit: "rad", or "m" of a prismatic joint.
    """

    joint: str
    offset: float
    sigma: float
    identifiability: OffsetIdentifiability
    at_bound: bool
    unit: str


@dataclass(frozen=True, slots=True)
class ChannelError:
    """Root mean square of one kind of residual [m or rad].

    Attributes:
        name: Name of the residual.
        unit: "m" or "rad".
        before: On the fitted samples with zero offsets and fitted nuisances.
        after: On the fitted samples with all unknowns fitted.
        written: On the fitted samples with only the written offsets and refitted nuisances.
        leave_one_out: Each sample predicted by a calibration without it; None if not computed.
        left_out_before: Samples predicted with zero offsets, nuisances fitted without them and their
            neighbours; None where no offset is known well enough to be written.
        left_out_written: The same with only the offsets that are known well enough to be written, fitted
            without these samples as well.
        held_out_before: On the held-out samples with zero offsets; None without such samples.
        held_out: On the held-out samples after the calibration.
        held_out_written: On the held-out samples with only the written offsets.
    """

    name: str
    unit: str
    before: float
    after: float
    written: float
    leave_one_out: float | None = None
    left_out_before: float | None = None
    left_out_written: float | None = None
    held_out_before: float | None = None
    held_out: float | None = None
    held_out_written: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """A choice of prior knowledge that was tried by leave-one-out.

    Attributes:
        offset_sigma: [rad].
        placement_position_sigma: [m].
        placement_rotation_sigma: [rad].
        errors: Leave-one-out root mean square by channel.
        chosen: Whether this choice was selected.
    """

    offset_sigma: float
    placement_position_sigma: float
    placement_rotation_sigma: float
    errors: Mapping[str, float]
    chosen: bool


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationReport:
    """Results of a calibration.

    Attributes:
        kind: "flat-feet", "plane" or "marker".
        joints: Offsets in the model's order.
        rank: Number of combinations of offsets the samples determine.
        rank_with_placements: The same where the placement errors of the fit are unknown as well.
        unknown_combinations: Combinations of offsets they do not determine, as text.
        channels: Residuals.
        noise: Noise level by channel, estimated from the residuals.
        nuisances: Value and standard deviation of the other unknowns, by name.
        samples: Samples fitted.
        held_out: Samples held out.
        outliers: Samples with reduced weights.
        heights_before: Heights (or marker errors) for the figure with zero offsets, all samples, shape
            (K, c) [m].
        written_heights: The same with only the written offsets, shape (K, c) [m].
        is_held_out: Which rows of these are held out of the fit, shape (K,).
        trials: Candidates of the leave-one-out selection; empty without a selection.
        iterations: Gauss-Newton steps.
        converged: Whether they converged.
        warnings: Suspicious properties of data or result, one sentence each.
        written_joints: Joints whose offsets are written.
    """

    kind: str
    joints: tuple[JointOffset, ...]
    rank: int
    rank_with_placements: int
    unknown_combinations: tuple[str, ...]
    channels: tuple[ChannelError, ...]
    noise: Mapping[str, float]
    nuisances: Mapping[str, tuple[float, float]]
    samples: int
    held_out: int
    outliers: int
    heights_before: Array
    written_heights: Array
    is_held_out: Array
    trials: tuple[Trial, ...]
    iterations: int
    converged: bool
    warnings: tuple[str, ...]
    written_joints: tuple[str, ...]

    @property
    def written(self) -> tuple[JointOffset, ...]:
        """Offsets that are written."""
        return tuple(j for j in self.joints if j.joint in self.written_joints)

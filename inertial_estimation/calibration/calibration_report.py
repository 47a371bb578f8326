"""What a calibration gives: offsets with deviations, what is identifiable, residuals before and after."""

from collections.abc import Mapping
from dataclasses import dataclass

from inertial_estimation.calibration.identifiability import OffsetIdentifiability
from inertial_estimation.signals import Array

__all__ = ["CalibrationReport", "ChannelError", "JointOffset", "Trial"]


@dataclass(frozen=True, slots=True)
class JointOffset:
    """Offset of one joint, to be added to its measured position.

    Attributes:
        joint: Its name.
        offset: [rad or m].
        sigma: Standard deviation, the prior included [rad or m].
        identifiability: What the samples say of it.
        at_bound: Whether it ended at the bound.
    """

    joint: str
    offset: float
    sigma: float
    identifiability: OffsetIdentifiability
    at_bound: bool


@dataclass(frozen=True, slots=True)
class ChannelError:
    """Root mean square of one kind of residual [m or rad].

    Attributes:
        name: What it is.
        unit: "m" or "rad".
        before: Offsets zero, nuisances fitted, samples of the calibration.
        after: All unknowns fitted.
        written: Only what is written to the offsets file applied, nuisances fitted again.
        leave_one_out: Each sample predicted by a calibration without it; None where it was not done.
        held_out_before: Samples that had no part, offsets zero; None without any.
        held_out: The same after the calibration.
        held_out_written: The same with only what is written.
    """

    name: str
    unit: str
    before: float
    after: float
    written: float
    leave_one_out: float | None = None
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
        chosen: Whether it was taken.
    """

    offset_sigma: float
    placement_position_sigma: float
    placement_rotation_sigma: float
    errors: Mapping[str, float]
    chosen: bool


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationReport:
    """All that is known after a calibration.

    Attributes:
        kind: "flat-feet", "plane" or "marker".
        joints: Offsets in the model's order.
        rank: Number of combinations of offsets the samples determine.
        unknown_combinations: Combinations they do not, in words.
        channels: Residuals.
        noise: Noise level by channel, estimated from the residuals.
        nuisances: Value and standard deviation of what else was unknown, by name.
        samples: Samples fitted.
        held_out: Samples held out.
        outliers: Samples that were weighed down.
        before: Heights (or marker errors) to draw, offsets zero, all samples, shape (K, c) [m].
        after: The same after the calibration.
        is_held_out: Which rows of the two had no part, shape (K,).
        trials: What leave-one-out chose from; empty where nothing was chosen.
        iterations: Gauss-Newton steps.
        converged: Whether they converged.
        warnings: What is suspicious, a sentence each.
        written_joints: Joints whose offsets are written.
    """

    kind: str
    joints: tuple[JointOffset, ...]
    rank: int
    unknown_combinations: tuple[str, ...]
    channels: tuple[ChannelError, ...]
    noise: Mapping[str, float]
    nuisances: Mapping[str, tuple[float, float]]
    samples: int
    held_out: int
    outliers: int
    before: Array
    after: Array
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

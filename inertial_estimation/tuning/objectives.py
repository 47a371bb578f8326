"""What a search makes small, and the trials that score an estimator with parameters of one's choice."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import Division

Values = Mapping[str, Any]  # by dotted name
Report = Callable[[int, float], None]  # block and its score, as soon as it is known


@dataclass(frozen=True)
class Objective:
    """What a search makes small.

    Attributes:
        name: Its name on the command line.
        node: Whose parameters it judges.
        title: What it is, for tables and figures.
        unit: Unit of the displayed value.
        squared: Whether scores are mean squares, of which the root is displayed.
    """

    name: str
    node: str
    title: str
    unit: str = ""
    squared: bool = False

    def displayed(self, score: float) -> float:
        """Return a mean score in the unit that is displayed."""
        return float(np.sqrt(max(score, 0.0))) if self.squared else float(score)


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("later_readings", TILT_NODE, "tilt against later readings, rms", "deg", squared=True),
        Objective("reference", TILT_NODE, "tilt against the reference, rms", "deg", squared=True),
        Objective("likelihood", INERTIAL_NODE, "negative log-likelihood of an innovation, per row"),
        Objective("torque", INERTIAL_NODE, "held-out residual over the nominal one, rms", "", squared=True),
    )
}


class Trials(ABC):
    """Runs an estimator over one recording again and again; can be pickled.

    Attributes:
        division: Parts and blocks of the recording.
    """

    division: Division

    @abstractmethod
    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the estimator with other parameters.

        Args:
            values: The parameters that differ, by dotted name.
            parts: How many of the recording's parts are run, from the first one.
            report: Called with each block and its score, by estimators that are slow enough.

        Returns:
            Score of each block, small is good, shape (blocks,); NaN where a block has none.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If the estimator cannot run with them.
        """

"""Constant bias of the rows, averaged at rest on request (Foster et al. IV-B)."""

import numpy as np

from inertial_estimation.signals import Array, Decision


class ResidualBias:
    """Averages the residual over a window at rest and keeps it as a bias of the measurement.

    Cables and errors of the nominal model cause a constant residual. The bias is not observable together
    with the inertial parameters (a state augmented with it is rank deficient), so it is measured once
    under the assumption that the parameters are correct.

    Attributes:
        bias: Subtracted from the measured rows [Nm, N], shape (m,).
        is_known: Whether there is one.
        active: Whether a calibration is under way.
    """

    def __init__(self, rows: int, window: float, rest_speed: float) -> None:
        """Start without bias.

        Args:
            rows: Number of rows.
            window: Time to average over [s].
            rest_speed: Largest joint speed that counts as rest [rad/s].
        """
        self.window = window
        self.rest_speed = rest_speed
        self.bias: Array = np.zeros(rows)
        self.active = self.is_known = False
        self._clear()

    def start(self) -> None:
        """Begin a calibration; the previous bias and any residuals averaged so far are dropped."""
        self.bias = np.zeros_like(self.bias)
        self.active, self.is_known = True, False
        self._clear()

    def reset(self) -> None:
        """Drop the bias and any calibration under way."""
        self.start()
        self.active = False

    def feed(self, residual: Array, speed: float, dt: float) -> Decision:
        """Add one residual while a calibration is active.

        Args:
            residual: Measured minus predicted, bias not subtracted, shape (m,).
            speed: Current largest joint speed [rad/s].
            dt: Time since the last residual [s].

        Returns:
            WAITING_FOR_REST, CALIBRATING, or CALIBRATED once the window is full.
        """
        if speed > self.rest_speed:
            self._clear()
            return Decision.WAITING_FOR_REST
        self._sum += residual
        self._count += 1
        self._gathered += dt
        if self._gathered < self.window:
            return Decision.CALIBRATING
        self.bias = self._sum / self._count
        self.active, self.is_known = False, True
        self._clear()
        return Decision.CALIBRATED

    def _clear(self) -> None:
        self._sum = np.zeros_like(self.bias)
        self._count = 0
        self._gathered = 0.0

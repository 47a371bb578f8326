"""How much of its full force each foot of a crawl may take."""

import numpy as np

from inertial_estimation.signals import Array

LEAST_SHARE = 1e-3  # of a foot still on the ground: it may push, but hardly does


class FootLoads:
    """Share of the full load of each foot; a foot takes it over after landing, and gives it up at the end."""

    def __init__(self, n_feet: int) -> None:
        """Begin with all feet loaded.

        Args:
            n_feet: Number of feet.
        """
        self._share: Array = np.ones(n_feet)

    def update(self, change: float, *, unloading: int | None = None, airborne: int | None = None) -> None:
        """Move all shares towards full load.

        Args:
            change: Of a share since the last call.
            unloading: A foot that gives up its load instead.
            airborne: A foot without load.
        """
        self._share += change
        if unloading is not None:
            self._share[unloading] -= 2.0 * change
        if airborne is not None:
            self._share[airborne] = 0.0
        np.clip(self._share, LEAST_SHARE, 1.0, out=self._share)

    def capacity(self, airborne: int | None) -> tuple[float, ...]:
        """Return the share of its full force each foot may take, 0 for one in the air.

        Args:
            airborne: Index of the foot in the air; None: all stand.
        """
        return tuple(0.0 if i == airborne else float(share) ** 2 for i, share in enumerate(self._share))

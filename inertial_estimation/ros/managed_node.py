"""The lifecycle of a node whose states a manager sets."""

from abc import ABC, abstractmethod
from typing import Any

from rclpy.node import Node

from inertial_estimation.errors import ConfigurationError, InertialEstimationError
from inertial_estimation.ros.rclpy_internals import HAS_LIFECYCLE, LifecycleStates, TransitionCallbackReturn

__all__ = ["ManagedNode"]


class ManagedNode(LifecycleStates, Node, ABC):
    """A node that has lifecycle states once `begin_lifecycle` has been called, and is active else."""

    def __init__(self, name: str, **node_arguments: Any) -> None:
        """Create the node.

        Args:
            name: Its default name.
            **node_arguments: Passed on to rclpy's Node.
        """
        Node.__init__(self, name, **node_arguments)
        self.active = True
        self.managed = False

    @abstractmethod
    def configure(self) -> None:
        """Load, check, and create publishers, services and inputs.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If something is wrong or missing.
        """

    @abstractmethod
    def clean_up(self) -> None:
        """Destroy what `configure` has created."""

    def activated(self) -> None:
        """Called when the node may publish."""

    def begin_lifecycle(self) -> None:
        """Become an unconfigured lifecycle node.

        Raises:
            ConfigurationError: If this rclpy has no lifecycle.
        """
        if not HAS_LIFECYCLE:
            raise ConfigurationError(
                "parameter 'managed' is true, but this rclpy has no lifecycle nodes (lifecycle_msgs is "
                "missing): install it, or set managed to false"
            )
        self.active, self.managed = False, True
        LifecycleStates.__init__(self)
        self.get_logger().info("managed: unconfigured")

    def on_configure(self, state: Any) -> Any:
        """Load and check; fails, saying why, where a name or the robot description is missing."""
        try:
            self.configure()
        except InertialEstimationError as error:
            self.clean_up()
            self.get_logger().error(f"not configured: {error}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: Any) -> Any:
        """Publish from now on."""
        self.active = True
        self.activated()
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: Any) -> Any:
        """Publish nothing from now on."""
        self.active = False
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: Any) -> Any:
        """Forget the robot, as before it was configured."""
        self.clean_up()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: Any) -> Any:
        """Publish nothing any more."""
        self.active = False
        self.clean_up()
        return TransitionCallbackReturn.SUCCESS

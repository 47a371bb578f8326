"""Tasks of the whole-body controller, one kind a module."""

from inertial_estimation.control.tasks.base_height import BaseHeightTask
from inertial_estimation.control.tasks.base_orientation import BaseOrientationTask
from inertial_estimation.control.tasks.com import ComTask
from inertial_estimation.control.tasks.contact_rest import ContactRestTask
from inertial_estimation.control.tasks.foot_motion import FootMotionTask, FootReference
from inertial_estimation.control.tasks.posture import PostureTask
from inertial_estimation.control.tasks.task import DEMAND_WIDTH, Task, TaskRows
from inertial_estimation.control.tasks.task_stack import TaskStack

__all__ = [
    "DEMAND_WIDTH",
    "BaseHeightTask",
    "BaseOrientationTask",
    "ComTask",
    "ContactRestTask",
    "FootMotionTask",
    "FootReference",
    "PostureTask",
    "Task",
    "TaskRows",
    "TaskStack",
]

"""Which links' inertias are published, and which of them are estimated from the start."""

from inertial_estimation.estimators.inertial.inertial_config import AUTO, InertialPipelineConfig
from inertial_estimation.models.body_reference import BodyReference, estimated_bodies, has_usable_prior
from inertial_estimation.models.candidate_columns import candidate_links
from inertial_estimation.models.robot_model import RobotModel


def published_bodies(robot: RobotModel, config: InertialPipelineConfig) -> tuple[BodyReference, ...]:
    """Return the bodies whose inertias are published: those of `links`, with "auto" the candidates, too.

    Candidates without a usable inertia in the URDF are left out.

    Args:
        robot: The robot.
        config: The parameters.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If there is no link, or two belong to one body.
        ~inertial_estimation.errors.ModelError: If a link does not exist.
    """
    named = _named(config)
    if AUTO not in config.links:
        return estimated_bodies(robot, named)
    candidates = candidate_links(robot, config.locator.candidates, named)
    others = (link for link in candidates if link not in named and has_usable_prior(robot, link))
    return estimated_bodies(robot, (*named, *others))


def starting_links(config: InertialPipelineConfig, published: tuple[BodyReference, ...]) -> tuple[str, ...]:
    """Return the links that are estimated from the start: those named, or the heaviest where none is.

    Args:
        config: The parameters.
        published: Bodies whose inertias are published.
    """
    return _named(config) or (max(published, key=lambda body: body.nominal_J.mass).link,)


def _named(config: InertialPipelineConfig) -> tuple[str, ...]:
    """Return the links named in `links`, without the entry "auto"."""
    return tuple(link for link in config.links if link != AUTO)

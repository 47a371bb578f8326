"""Callbacks of services; an exception of the call is returned as the message of a failure."""

from collections.abc import Callable
from typing import Any

from std_srvs.srv import SetBool, Trigger

from inertial_estimation.errors import InertialEstimationError


def trigger_callback(call: Callable[[], str]) -> Callable[[Trigger.Request, Trigger.Response], Any]:
    """Return the callback of a Trigger service.

    Args:
        call: Executes the request and returns the message of the response.
    """

    def on_request(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return _answered(response, call)

    return on_request


def switch_callback(call: Callable[[bool], str]) -> Callable[[SetBool.Request, SetBool.Response], Any]:
    """Return the callback of a SetBool service.

    Args:
        call: Switches on or off and returns the message of the response.
    """

    def on_request(request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        return _answered(response, lambda: call(bool(request.data)))

    return on_request


def _answered(response: Any, call: Callable[[], str]) -> Any:
    try:
        response.message, response.success = call(), True
    except (InertialEstimationError, OSError) as error:
        response.message, response.success = str(error), False
    return response

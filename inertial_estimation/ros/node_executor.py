"""The executor of rclpy, which is not ended by a request that rclpy cannot read."""

from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.logging import get_logger


class NodeExecutor(SingleThreadedExecutor):
    """Logs the error that a parameter service of rclpy raises at a value of an unknown type, for instance."""

    def _take_service(self, srv: Any) -> Any:
        execute = super()._take_service(srv)
        if not callable(execute):  # nothing has come
            return execute

        async def execute_or_log() -> None:
            try:
                await execute()
            except (ValueError, TypeError, OverflowError) as error:
                get_logger(srv.srv_name).error(f"a request is not answered: {error}")

        return execute_or_log

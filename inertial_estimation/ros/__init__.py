"""The ROS 2 shell: the only place that imports rclpy or messages."""

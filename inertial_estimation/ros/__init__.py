"""ROS 2 nodes and conversions; the only package that imports rclpy or message classes."""

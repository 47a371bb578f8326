"""The robot: kinematics, dynamics measurement, contacts, inertial sensors, friction."""

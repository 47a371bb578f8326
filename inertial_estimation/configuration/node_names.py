"""Names of the nodes, which are also the names of their sections in a parameter file."""

TILT_NODE = "tilt_observer"
INERTIAL_NODE = "inertial_ekf"
PAYLOAD_NODE = "trunk_payload"
SIMULATOR_NODE = "simulator"
CONTROLLER_NODE = "whole_body_controller"
IDENTIFICATION = "identification"  # no node: the section of `inertial-estimation identify`

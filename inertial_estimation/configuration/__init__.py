"""Parameter files, URDF sources, node options, and the pipelines built from them."""

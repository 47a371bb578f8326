"""Mass and centre of mass of a legged robot's trunk at rest, and changes of its load (Tournois III)."""

"""Mass and centre of mass of a legged robot's trunk, identified at rest (Tournois et al. 2017: T)."""

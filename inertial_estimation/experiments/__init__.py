"""The experiments of the source papers, one module each; their results depend on the seeds alone."""

from inertial_estimation.control.repeatable_solver import prefer_repeatable_solver

prefer_repeatable_solver()  # in every process that imports an experiment, before it imports a controller

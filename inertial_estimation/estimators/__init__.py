"""Online, causal estimators and the pipelines that feed them aligned measurements."""

"""Further ways to an estimate where a script cannot be followed as it stands: usual arguments, its project's models."""

"""Abstract values."""

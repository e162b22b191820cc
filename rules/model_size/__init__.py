"""6xx: model size from static shapes."""

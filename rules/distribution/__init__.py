"""5xx: several GPUs."""

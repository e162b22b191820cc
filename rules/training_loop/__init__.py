"""4xx: training loops: accumulation and growth."""

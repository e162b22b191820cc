"""2xx: host memory, the data set as arrays."""

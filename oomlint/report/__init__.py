"""Reports: one module per output format."""

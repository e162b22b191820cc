"""What library calls do to abstract values: one module per library area."""

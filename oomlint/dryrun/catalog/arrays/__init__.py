"""NumPy arrays and what reads data into them."""

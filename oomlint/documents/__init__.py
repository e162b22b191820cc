"""Documents: what is read from disk, and written back byte for byte outside an edit."""

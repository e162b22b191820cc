"""Cuts out of a script what builds its model."""

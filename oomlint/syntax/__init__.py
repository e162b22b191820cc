"""Syntax: parsing with LibCST, positions on demand, edits in terms of nodes."""

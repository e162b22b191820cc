"""Runs the slice of a script, statement by statement, until its model is made."""

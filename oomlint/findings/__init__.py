"""Findings: what rules say, how their fixes are applied, what suppresses them."""

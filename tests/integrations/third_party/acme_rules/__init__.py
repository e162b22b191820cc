"""Our rules, a module each."""

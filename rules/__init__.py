"""The built-in rules: a folder per family, a module per rule, named by what is wrong."""

"""The project around a document: its files, its configuration, its modules."""

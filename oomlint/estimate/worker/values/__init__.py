"""What names and settings say: values of the project by name, classes and roles, usual sizes."""

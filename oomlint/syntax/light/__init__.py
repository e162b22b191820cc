"""LibCST's tree without its blanks, made from the tree of the standard library's `ast`."""

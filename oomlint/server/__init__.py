"""The language server: `oomlint server`, on standard input and output. Needs the extra `lsp`."""

"""What is checked, as bytes and as text: decoding, lines, edits of the text, writing back."""

"""The text of a function: its proved syntax tree, and what the text alone tells."""

"""The source of a function: its verified syntax tree, and facts from the source alone."""

"""The state of the interpreter, and the dispatch of syntax, calls and attributes."""

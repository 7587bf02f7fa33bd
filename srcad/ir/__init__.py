"""The intermediate representation: structured, pure SSA, and its meaning."""

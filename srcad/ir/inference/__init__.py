"""Type inference: NumPy itself is asked for the type of a call's result."""

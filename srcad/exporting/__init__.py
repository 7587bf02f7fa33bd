"""A derivative as a module of its own, which runs without srcad."""

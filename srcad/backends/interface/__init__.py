"""The interface of backends, and the mapping from lines of text to the user's lines."""

"""IR to something that runs: the Python writer, its names and its text."""

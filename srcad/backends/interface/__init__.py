"""What every backend gives, and what the lines of its text come from."""

"""Static types of values: lengths, numbers, structures."""

"""What is known of values before the call: lengths, numbers, structures."""

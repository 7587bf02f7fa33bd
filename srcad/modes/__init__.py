"""What may be asked for: one file a mode, and what they share."""

"""Text that a person can read: what is written, under which names, and how."""

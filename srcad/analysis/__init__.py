"""Facts about the IR; nothing here changes it."""

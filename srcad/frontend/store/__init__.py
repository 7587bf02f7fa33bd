"""Whose memory a value is, and what a write leaves behind."""

"""The derivatives that can be requested: one file for each mode, and shared parts."""

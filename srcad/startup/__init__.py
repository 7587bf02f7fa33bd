"""What everything stands on, and what makes the first gradient quick."""

"""Where paths part and where they meet."""

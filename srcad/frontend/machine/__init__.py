"""The state of one reading, and the dispatch of what is read."""

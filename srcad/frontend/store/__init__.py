"""Memory: aliases of values, and the effects of writes."""

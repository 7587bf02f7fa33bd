"""From the arguments of a call to types and to what is asked for."""

"""The statements of the written program, and what is written inside what."""

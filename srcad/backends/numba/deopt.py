"""The exception with which compiled code requests the NumPy code."""


class Deopt(Exception):  # noqa: N818 - no error: the NumPy text is run
    """The compiled code does not support these arguments."""

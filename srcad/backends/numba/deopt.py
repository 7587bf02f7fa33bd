"""The exception that compiled code raises to have the NumPy text run."""


class Deopt(Exception):  # noqa: N818 - no error: the NumPy text is run
    """The compiled form does not serve these arguments."""

"""Complete examples of the recipes of ``docs/design/how-to-extend.md``, and their test.

Each page has a title ``# Recipe: example``, code blocks that name their files
(```` ```python addition.py ````), and the error with which the program ends without the addition.
``addition.py`` registers the addition from outside the package, and ``program.py`` needs it; the
page ends with the file of the package to which the addition belongs.
"""

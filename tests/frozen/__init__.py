"""What srcad writes for three thousand programs, so that a change can show what it changes.

``table.txt`` has a line for each program: its name, and ten digits of the hash of the generated
text, or the code of the refusal.  A refactoring proves by it that it changes nothing; any other
change shows by it which texts have changed, and they can be read::

    python -m tests.frozen                   # what differs from the table
    python -m tests.frozen --against ../old  # the same, with the old and the new text of each
    python -m tests.frozen --update          # write the table anew
    python -m tests.frozen --short           # without most of the random ones: a minute

A text that depends on the version of Python or NumPy is marked ``varies``, and never differs; run
``python -m tests.frozen --varies`` with the other version to mark all of those.
"""

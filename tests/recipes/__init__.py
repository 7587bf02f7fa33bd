"""Apply one example of each recipe of ``docs/design/how-to-extend.md`` to a copy of srcad.

A change is a text file: the heading of its recipe, then sections that begin with ``==``::

    == new PATH               a file of its own
    == append PATH            text at the end of a file
    == line PATH behind LINE  one line of an index or order, and where it goes
    == out PATH               what is there already: the file, and the line that names it, are
                              taken out first
    == sources NUMBER         of source files, where it is not one
    == needs VERSION          of Python
    == fails TEXT             what the program says without the change
    == program                what holds with the change
"""

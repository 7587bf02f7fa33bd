"""The list of what people differentiate through in NumPy and SciPy, tried row by row.

``rows.txt`` has a line for each row: its priority (1 is what every tenth program uses), what comes
of it, its topic and its name.  It ``works``, is ``constant`` (no derivative passes), ``refused``,
or ``absent`` from this version.  Each is spelled as a program in `numpy_calls` or `scipy_calls`,
differentiated, and compared with differences::

    python -m tests.coverage              # every row, and counts by priority (some seconds)
    python -m tests.coverage --refused    # those that are refused, with the reason
    python -m tests.coverage fft          # rows with one of these words in topic or name
    python -m tests.coverage --quick      # as the list has it: nothing is compiled
    python -m tests.coverage --update     # write the list anew
"""

"""Programs with two arguments, by name."""


def registry():
    """Return a dict of programs, and a decorator that puts a program with its arguments there."""
    programs = {}

    def program(*args):
        def register(f):
            programs[f.__name__] = f, args
            return f

        return register

    return programs, program

"""The one exception that a caller's mistake raises."""


class InputError(ValueError):
    """Something given to settwister cannot be used.

    The message is one sentence: what was given, what was expected, what to do. The command line prints it
    and exits with code 2.
    """

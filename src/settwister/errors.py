"""What is raised where something given cannot be used."""


class InputError(ValueError):
    """Something given to settwister cannot be used.

    The message is one sentence: what was given, what was expected, what to do. The command line prints it
    and exits with code 2.
    """


class DivergedError(InputError):
    """A training whose loss is no longer a number."""

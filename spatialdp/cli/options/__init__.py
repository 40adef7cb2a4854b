"""Options that commands share. A command gets each group of options as one checked value.

Public values are checked here, before a command runs and therefore before a file of points is opened. A missing domain,
a budget that is not a number or an output that exists already is refused while nothing has been read or spent.
"""

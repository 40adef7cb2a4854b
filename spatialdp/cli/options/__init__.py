"""Options that commands share. Each group reaches its command as one value that has been checked.

What is public is checked here, before a command runs and so before a file of points is opened: a missing domain, a
budget that is no number or an output that exists already are refused while nothing has been read or spent.
"""

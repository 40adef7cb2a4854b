"""The audit: what a release promises, tested as an adversary would.

Every check walks the one list in `cases`, so a mechanism that enters the list gets all of them.

- `contract`: what every mechanism owes its caller, whatever the data.
- `sensitivity`: the image of every single record, and the cost that follows, against the cost that is stated.
- `replay`: two neighbours with the same outcomes; all that is published must be the same, the exact loss within ε.
- `enumeration`, `trees`: true output laws on tiny domains, from the samplers themselves, and their largest log-ratio.
- `black_box`, `one_by_one`: lower bounds on ε from many releases, by searching for the event that tells most.
- `mutants`: planted bugs, each with the check that must catch it.

``python -m tests.audit`` is the long run; it writes ``docs/audit.md``.
"""

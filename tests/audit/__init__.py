"""Does a release keep its privacy promise? The audit tests it as an adversary would.

Every check runs on the list of mechanisms in `tests/helpers/cases.py`, so a mechanism in the list gets all of them.

- `contract`: duties of every mechanism, for any data.
- `sensitivity`: the change that each single record makes to the measurements, and its cost, against the stated cost.
- `replay`: two neighbours get the same outcomes; everything published must be the same, and the exact loss within ε.
- `persons`: one person more, less or another, against the bound on what a person contributes.
- `enumeration`, `trees`: true output laws on tiny domains, from the samplers themselves, and their largest log-ratio.
- `black_box`, `one_by_one`: lower bounds on ε from many releases; `events` searches for the event that proves most.
- `mutants`: planted bugs, each with the check that must catch it.

``python -m tests.audit`` is the long run; it writes ``docs/audit.md``.
"""

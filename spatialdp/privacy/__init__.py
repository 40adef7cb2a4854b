"""The privacy core: budgets, exact noise, noise laws, and the statement a release makes."""

"""The privacy core: budgets, neighbours, exact noise, and the privacy statement of a release."""

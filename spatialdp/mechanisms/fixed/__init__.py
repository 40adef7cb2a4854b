"""Mechanisms whose structure is public: it does not depend on the records and costs nothing."""

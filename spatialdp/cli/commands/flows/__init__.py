"""The command that releases flows."""

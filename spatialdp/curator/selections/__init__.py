"""Questions whose answers are choices: the best of many regions, and which counts are above a threshold."""

"""Noise and private choices: everything that turns private numbers and random bits into publishable ones."""

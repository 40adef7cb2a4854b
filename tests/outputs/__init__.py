"""Tests of what releases become: files, maps and pages."""

"""Mechanisms that pay for their structure."""

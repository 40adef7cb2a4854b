"""What is made of several tables: releases by networks, graphs of zones, and records drawn jointly."""

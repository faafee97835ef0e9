"""Interception of torch calls, which are answered or recorded while the function runs."""

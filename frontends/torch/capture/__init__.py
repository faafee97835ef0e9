"""Interception of torch calls: each call is answered and recorded while the function runs."""

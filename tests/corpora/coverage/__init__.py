"""What share of whole corpora (torch's own operator samples, the zoo of models) is right in each target; run
by ``scripts/coverage.py``.
"""

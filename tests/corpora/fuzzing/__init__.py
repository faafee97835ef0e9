"""Random torch programs, run as they are and as graphs: right, or a clear error, never a wrong number and
never a crash.
"""

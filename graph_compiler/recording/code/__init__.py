"""The user's code as text and instructions: where a call stands, what it is stored in, which names it reads,
what is made for messages.
"""

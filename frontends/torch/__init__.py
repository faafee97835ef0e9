"""torch as a source: how its calls are recorded, and how they are written in canonical operations."""

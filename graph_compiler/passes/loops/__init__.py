"""Passes that make loops of recorded iterations, and passes that optimize loops."""

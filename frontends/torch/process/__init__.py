"""What torch and Python keep for a whole thread or process: generators, modes, settings, autocast, threads."""

"""State of torch and Python per thread or process: generators, modes, settings, autocast, threads."""

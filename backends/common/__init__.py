"""Parts that all backends share."""

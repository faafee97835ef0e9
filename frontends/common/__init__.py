"""Parts that all frontends share."""

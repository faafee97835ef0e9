"""Code that all frontends share."""

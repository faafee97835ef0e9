"""Code that the backends share: tables of rows, writers of loops and branches, prelude helpers."""

"""Padded arrays and masks instead of sizes that change, for targets that compile fixed shapes."""

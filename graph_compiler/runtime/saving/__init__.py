"""Saved graphs: writing to and reading from zip files and folders of JSON and safetensors."""

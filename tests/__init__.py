"""Tests of graph_compiler."""

"""Tests of pages and tables of graphs."""

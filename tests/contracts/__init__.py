"""Tests of what frontends and backends provide."""

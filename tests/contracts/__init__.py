"""Tests of the interfaces that frontends and backends implement."""

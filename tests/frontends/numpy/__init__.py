"""Tests of numpy as a source: samples as data, programs, errors."""

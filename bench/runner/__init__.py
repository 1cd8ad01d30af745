"""The parts of bench/run: how to measure, what is measured, what is written."""

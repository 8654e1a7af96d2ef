"""What a gate leaves for CI: each format is a pure function of the `GateResult`."""

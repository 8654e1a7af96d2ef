"""`loadstone self-test`: what a measurement on this machine may be trusted with."""

import typer

from loadstone import terminal


def self_test_command() -> None:
    """Measure how far to trust figures of this machine.

    `doctor` reads what is installed and how the machine is set; this measures: the generator on servers of known speed,
    delay and freezes, clocks, CPUs, and what a kill leaves. Status 3 if something does not hold.
    """
    from loadstone.overview import try_out

    status = try_out(lambda line: terminal.result(f"{line}\n"), terminal.remark)
    if status:
        raise typer.Exit(status)

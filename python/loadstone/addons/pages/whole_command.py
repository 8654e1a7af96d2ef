"""The whole command line, made once this is imported: before a process apart is asked, see `reader_process.LOADED`."""

from loadstone.cli.main import whole

COMMAND = whole()

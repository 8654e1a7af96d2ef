"""What of a run may be sent to a memcached of the user's: meta commands on keys of ours, and nothing else.

memcached cannot list its keys without looking at all of them, so only keys can be removed whose names are known:
`{key}` itself, and keys that are always the same.
"""

from collections.abc import Sequence

from loadstone.experiment.plan.operations import is_one_key
from loadstone.experiment.software import MEMCACHED_COUNTING
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.servers.control import CommandRefusal
from loadstone.text.message import said

FLAGS = {"mg": "EKNORTcfhklstv", "ms": "CEFIMOTcfks", "md": "CEIOTckstx", "ma": "CDEJMNOTckstv"}
"""What may follow the key of each command: flags that only change what is stored at it, or what is answered."""
WITH_KEY = frozenset(FLAGS)
OTHER_KEY = said("write {{key}}, or a key that begins with '{prefix}' and is always the same", prefix=OUR_PREFIX)
REFUSED_FLAGS = {
    "q": said("a quiet command is not always answered"),
    "b": said("keys are sent as they are written"),
}
STAYING = frozenset({*WITH_KEY, "mn", *(word.lower() for word in MEMCACHED_COUNTING)})
"""What a server of ours may be sent without a question; other commands read files, end the server or listen to it."""


def reaches_out(command: Sequence[str]) -> bool:
    """Return whether a command is not known to stay within the data of a server of ours."""
    return not command or command[0].lower() not in STAYING or any(set(word) & set("\r\n\0") for word in command)


class ConfinedMeta:
    """See `servers.control.Confinement`."""

    def command(self, command: Sequence[str], prefix: str) -> None:
        """See `servers.control.Confinement.command`."""
        name, *arguments = command
        if name == "mn":
            return
        if name not in WITH_KEY:
            raise CommandRefusal(said("it is no meta command"), said("use mg, ms, md, ma or mn"))
        if not prefix.startswith(OUR_PREFIX):
            raise CommandRefusal(
                said("{{key}} begins with '{prefix}'", prefix=prefix),
                said("let it begin with '{our_prefix}'", our_prefix=OUR_PREFIX),
            )
        key = arguments[0] if arguments else ""
        if not is_one_key(key) and (not key.startswith(OUR_PREFIX) or set(key) & set("{} \t\r\n")):
            raise CommandRefusal(
                said("its key '{key}' is not {{key}}, and not one of loadstone's that can be removed", key=key),
                OTHER_KEY,
            )
        for flag in arguments[2 if name == "ms" else 1 :]:
            if flag[:1] in REFUSED_FLAGS:
                raise CommandRefusal(
                    said("flag '{flag}': {refused_flags}", flag=flag, refused_flags=REFUSED_FLAGS[flag[:1]]),
                    said("leave it out"),
                )
            if flag[:1] not in FLAGS[name]:
                known = ", ".join(FLAGS[name])
                raise CommandRefusal(
                    said("flag '{flag}' is not one that {name} is known to have", flag=flag, name=name),
                    said("use one of: {known}", known=known),
                )
            if set(flag) & set(" \t\r\n"):
                raise CommandRefusal(
                    said("flag '{flag}' holds a space or a line end", flag=flag), said("write it without")
                )

    def row_command(self, text: str) -> None:  # noqa: ARG002 (the seam's signature)
        """It takes no rows."""
        raise CommandRefusal(
            said("memcached takes no rows of data"), said("store its keys by an operation (workload.load)")
        )

    def count(self, text: str, *, of_application: bool) -> None:
        """A figure of `stats`, or a key of ours; of an application any key."""
        words = text.split()
        if len(words) < 2 or words[0].upper() not in MEMCACHED_COUNTING:
            raise CommandRefusal(said("it counts nothing"), said("write 'stats curr_items', or 'mg KEY v'"))
        if words[0].upper() == MEMCACHED_COUNTING[0]:
            return
        if not of_application and not words[1].startswith(OUR_PREFIX):
            raise CommandRefusal(said("its key '{words}' is not loadstone's", words=words[1]), OTHER_KEY)

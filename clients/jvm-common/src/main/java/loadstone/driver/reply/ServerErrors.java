package loadstone.driver.reply;

import java.util.Locale;
import java.util.Set;

/** The kinds of errors that a server answers with. */
final class ServerErrors {
  private static final Set<String> CODES = Set.of(
      "ERR", "ASK", "BUSY", "BUSYGROUP", "BUSYKEY", "CLUSTERDOWN", "CROSSSLOT", "EXECABORT", "LOADING", "MASTERDOWN",
      "MISCONF", "MOVED", "NOAUTH", "NOPERM", "NOPROTO", "NOREPLICAS", "NOSCRIPT", "OOM", "READONLY", "TRYAGAIN",
      "UNBLOCKED", "WRONGPASS", "WRONGTYPE");

  private ServerErrors() {}

  /** The kind of an error's text, as {@code WRONGTYPE Operation against...}. */
  static String kind(String text) {
    String code = text.split(" ", 2)[0];
    return "server_" + (CODES.contains(code) ? code.toLowerCase(Locale.ROOT) : "other");
  }
}

package loadstone.driver.client;

import java.io.EOFException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.Locale;

/** No reply came: the connection could not be opened or was lost, or the time for the reply was over. */
public final class CallFailed extends Exception {
  private static final long serialVersionUID = 1;

  /** The kind under which the operation is counted; timeouts are counted apart. */
  public final Kind kind;

  /** Named as the engine's kinds of errors. */
  public enum Kind {
    TIMEOUT,
    CONNECT_TIMEOUT,
    CONNECTION_REFUSED,
    CONNECTION_RESET,
    CONNECTION_CLOSED,
    CONNECTION_FAILED,
    PROTOCOL;

    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  public CallFailed(Kind kind, String message) {
    // Many may fail at the same time: without its stack a failure costs little.
    super(message, null, false, false);
    this.kind = kind;
  }

  /** Why no connection could be opened: the innermost cause says most. */
  public static CallFailed connecting(Throwable thrown) {
    Throwable cause = innermost(thrown);
    if (cause instanceof SocketTimeoutException || contains(cause, "timed out")) {
      return new CallFailed(Kind.CONNECT_TIMEOUT, text(cause));
    }
    if (cause instanceof ConnectException && contains(cause, "refused")) {
      return new CallFailed(Kind.CONNECTION_REFUSED, text(cause));
    }
    return new CallFailed(Kind.CONNECTION_FAILED, text(cause));
  }

  /** Why no reply came over a connection that had been open. */
  public static CallFailed calling(Throwable thrown) {
    Throwable cause = innermost(thrown);
    if (cause instanceof SocketTimeoutException) {
      return new CallFailed(Kind.TIMEOUT, text(cause));
    }
    if (cause instanceof SocketException || contains(cause, "connection reset") || contains(cause, "broken pipe")) {
      return new CallFailed(Kind.CONNECTION_RESET, text(cause));
    }
    if (cause instanceof EOFException || contains(cause, "end of stream") || contains(cause, "closed")
        || contains(cause, "disconnected")) {
      return new CallFailed(Kind.CONNECTION_CLOSED, text(cause));
    }
    return new CallFailed(Kind.CONNECTION_FAILED, text(cause));
  }

  private static Throwable innermost(Throwable thrown) {
    Throwable cause = thrown;
    while (true) {
      Throwable[] suppressed = cause.getSuppressed();
      if (cause.getCause() != null && cause.getCause() != cause) {
        cause = cause.getCause();
      } else if (suppressed.length > 0) {
        cause = suppressed[0];
      } else {
        return cause;
      }
    }
  }

  private static boolean contains(Throwable cause, String part) {
    return text(cause).toLowerCase(Locale.ROOT).contains(part);
  }

  private static String text(Throwable cause) {
    String message = cause.getMessage();
    return message == null ? cause.getClass().getSimpleName() : message;
  }
}

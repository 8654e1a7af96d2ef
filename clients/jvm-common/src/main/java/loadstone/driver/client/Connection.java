package loadstone.driver.client;

/** A connection that was taken, for one caller until it is given back. */
public interface Connection {
  /**
   * Sends a command and waits for its reply: text as {@code byte[]} or {@link Replies.Status}, an integer as
   * {@code Long}, nil as null, a list or a map as the {@code List} of what is in it, an error as
   * {@link Replies.ServerError}; what is none of these is {@link Replies#OTHER}.
   *
   * @param command the arguments, the first of which is the command's name
   * @throws CallFailed no reply came
   */
  Object call(byte[][] command) throws CallFailed;

  /** Gives the connection back to its pool, or lets it go where a call failed on it. */
  void giveBack();
}

package loadstone.driver.client;

/** What a reply may be besides a text, an integer, nil and a list. */
public final class Replies {
  /** A reply of a kind that no expectation is about, as a double. */
  public static final Object OTHER = new Object();

  private Replies() {}

  /** A simple string, where the library tells it from other text. */
  public record Status(byte[] text) {}

  /** An error that the server answered with. */
  public record ServerError(String text) {}
}

package loadstone.driver.plan;

/** A plan that cannot be driven; the message names the field. */
public final class Refused extends Exception {
  private static final long serialVersionUID = 1;

  public Refused(String field, String why) {
    super(field + ": " + why);
  }
}

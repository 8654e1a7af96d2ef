package loadstone.driver.load;

import java.util.Locale;

/** The phases of a drive, in their order. */
public enum Phase {
  RAMP_UP, WARM_UP, MEASURE, DRAIN;

  /** The name in messages. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  public Phase next() {
    return this == DRAIN ? DRAIN : values()[ordinal() + 1];
  }
}

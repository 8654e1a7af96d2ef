package loadstone.driver.record;

import loadstone.driver.load.Phase;
import loadstone.driver.load.Request;

/** One operation on its way, with times of the drive's clock. Changed by the one thread that carries it out. */
public final class Task {
  /** Where all of it is recorded. */
  public final Stripe stripe;
  public final Request request;
  /** The phase that it belongs to: that of its intended time. */
  public final Phase member;
  public final long intendedNs;
  public final long pickedUpNs;
  /** When its first command was sent; 0 until then. */
  long sentNs;

  public Task(Stripe stripe, Request request, Phase member, long intendedNs, long pickedUpNs) {
    this.stripe = stripe;
    this.request = request;
    this.member = member;
    this.intendedNs = intendedNs;
    this.pickedUpNs = pickedUpNs;
  }
}

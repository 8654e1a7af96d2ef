package loadstone.driver.load;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import loadstone.driver.content.Rng;
import loadstone.driver.plan.Plan.Distribution;
import loadstone.driver.plan.Plan.Keys;

/** Which key an operation takes, by the plan's distribution. For all threads; each has random numbers of its own. */
public final class KeyPicker {
  private static final long[] NO_OTHERS = {};
  /** Draws of a key that is there already, after which the next free one is taken. */
  private static final int TRIES = 16;
  private final Keys keys;
  private final Zipf zipf;
  /** Keys that were taken in order. */
  private final AtomicLong taken = new AtomicLong();

  public KeyPicker(Keys keys) {
    this.keys = keys;
    this.zipf = new Zipf(keys.count(), keys.zipfExponent());
  }

  /** The number of the next key; -1 when each key of {@code exactly_once} was taken. */
  public long next(Rng rng) {
    return switch (keys.distribution()) {
      case UNIFORM -> rng.below(keys.count());
      case SEQUENTIAL -> taken.getAndIncrement() % keys.count();
      case ZIPF -> zipf.draw(rng) - 1;
      case GAUSSIAN -> gaussian(rng);
      case EXACTLY_ONCE -> {
        long key = taken.get() < keys.count() ? taken.getAndIncrement() : keys.count();
        yield key < keys.count() ? key : -1;
      }
    };
  }

  /**
   * So many other keys of one operation: each drawn as the first is, and different from all before it. Of keys that are
   * taken in order they are those that follow.
   */
  public long[] others(Rng rng, long key, int number) {
    if (number == 0) {
      return NO_OTHERS;
    }
    long[] found = new long[number];
    Set<Long> taken = new HashSet<>();
    taken.add(key);
    for (int place = 0; place < number; place++) {
      long other = (key + place + 1) % keys.count();
      for (int tries = 0; keys.distribution() != Distribution.SEQUENTIAL && tries < TRIES; tries++) {
        other = next(rng);
        if (!taken.contains(other)) {
          break;
        }
      }
      while (!taken.add(other)) {
        other = (other + 1) % keys.count();
      }
      found[place] = other;
    }
    return found;
  }

  /** Around the middle of the key space, cut off at its ends. */
  private long gaussian(Rng rng) {
    double sd = keys.gaussianSd();
    while (true) {
      double place;
      if (sd < 0.3) {
        place = 0.5 + sd * rng.normal();
      } else {
        // A wide bell is flat inside the key space: there, uniform proposals are rejected less often.
        place = rng.unit();
        double z = (place - 0.5) / sd;
        if (rng.unit() > Math.exp(-0.5 * z * z)) {
          continue;
        }
      }
      if (place >= 0 && place < 1) {
        return Math.min((long) (place * keys.count()), keys.count() - 1);
      }
    }
  }

  /**
   * Zipf over 1..n: P(k) ~ k^-s, by rejection-inversion: W. Hörmann and G. Derflinger, ACM TOMACS 6 (1996) 169-184.
   * Names follow the paper; H is the integral of h(x) = x^-s.
   */
  private static final class Zipf {
    private final double n;
    private final double exponent;
    private final double first;
    private final double last;
    private final double squeeze;

    Zipf(long n, double exponent) {
      this.n = n;
      this.exponent = exponent;
      first = integral(1.5) - 1;
      last = integral(n + 0.5);
      squeeze = 2 - inverse(integral(2.5) - h(2));
    }

    long draw(Rng rng) {
      while (true) {
        double u = last + rng.unit() * (first - last);
        double x = inverse(u);
        double k = Math.max(1, Math.min(n, Math.floor(x + 0.5)));
        if (k - x <= squeeze || u >= integral(k + 0.5) - h(k)) {
          return (long) k;
        }
      }
    }

    private double h(double x) {
      return Math.exp(-exponent * Math.log(x));
    }

    private double integral(double x) {
      double log = Math.log(x);
      double t = (1 - exponent) * log;
      return (Math.abs(t) > 1e-8 ? Math.expm1(t) / t : 1 + t / 2) * log;
    }

    private double inverse(double x) {
      // Rounding may take the argument below -1, where the logarithm has no value.
      double t = Math.max(-1, x * (1 - exponent));
      return Math.exp((Math.abs(t) > 1e-8 ? Math.log1p(t) / t : 1 - t / 2) * x);
    }
  }
}

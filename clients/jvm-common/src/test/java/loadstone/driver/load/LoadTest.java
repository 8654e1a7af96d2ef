package loadstone.driver.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import loadstone.driver.Examples;
import loadstone.driver.content.Rng;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.ArrivalsKind;
import loadstone.driver.plan.Plan.Distribution;
import loadstone.driver.plan.Plan.Keys;
import loadstone.driver.plan.Plan.Open;
import loadstone.driver.plan.Plan.Phases;
import loadstone.driver.plan.Plan.RateStep;
import loadstone.driver.plan.Refused;
import org.junit.jupiter.api.Test;

class LoadTest {
  private static final int DRAWS = 200_000;

  private static Keys keys(long count, Distribution distribution, double exponent, double sd) {
    return new Keys("", count, distribution, exponent, sd, false);
  }

  private static double[] shares(Keys keys) {
    KeyPicker picker = new KeyPicker(keys);
    Rng rng = new Rng(7, 0);
    double[] shares = new double[(int) keys.count()];
    for (int draw = 0; draw < DRAWS; draw++) {
      shares[(int) picker.next(rng)] += 1.0 / DRAWS;
    }
    return shares;
  }

  @Test
  void zipfGivesEachKeyItsWeight() {
    for (double exponent : new double[] {0.5, 0.99, 1.0, 1.2, 3.0}) {
      double[] found = shares(keys(50, Distribution.ZIPF, exponent, 0.1));
      double total = 0;
      for (int k = 1; k <= 50; k++) {
        total += Math.pow(k, -exponent);
      }
      for (int k = 1; k <= 50; k++) {
        double expected = Math.pow(k, -exponent) / total;
        assertEquals(expected, found[k - 1], 5 * Math.sqrt(expected / DRAWS), "key " + k + " of " + exponent);
      }
    }
  }

  @Test
  void uniformKeysAreEquallyLikely() {
    for (double share : shares(keys(20, Distribution.UNIFORM, 1, 0.1))) {
      assertEquals(0.05, share, 0.003);
    }
  }

  @Test
  void gaussianKeysHaveTheirSpread() {
    for (double sd : new double[] {0.1, 0.5}) {
      double[] shares = shares(keys(1000, Distribution.GAUSSIAN, 1, sd));
      double mean = 0;
      double middle = 0;
      for (int key = 0; key < shares.length; key++) {
        mean += shares[key] * (key + 0.5) / 1000;
        middle += Math.abs((key + 0.5) / 1000 - 0.5) < 0.1 ? shares[key] : 0;
      }
      assertEquals(0.5, mean, 0.005);
      assertEquals(sd == 0.1 ? 0.6827 : 0.1585 / 0.6827, middle, 0.01);
    }
  }

  @Test
  void sequentialKeysWalkAroundAndExactlyOnceEnds() {
    KeyPicker sequential = new KeyPicker(keys(3, Distribution.SEQUENTIAL, 1, 0.1));
    KeyPicker once = new KeyPicker(keys(3, Distribution.EXACTLY_ONCE, 1, 0.1));
    Rng rng = new Rng(1, 0);
    for (long expected : new long[] {0, 1, 2, 0, 1}) {
      assertEquals(expected, sequential.next(rng));
    }
    for (long expected : new long[] {0, 1, 2, -1, -1}) {
      assertEquals(expected, once.next(rng));
    }
  }

  @Test
  void otherKeysDifferFromTheFirstAndFromEachOther() {
    for (Distribution distribution : List.of(
        Distribution.UNIFORM, Distribution.ZIPF, Distribution.GAUSSIAN, Distribution.SEQUENTIAL)) {
      KeyPicker picker = new KeyPicker(keys(12, distribution, 0.99, 0.15));
      Rng rng = new Rng(3, 0);
      for (long key = 0; key < 12; key++) {
        Set<Long> all = new HashSet<>();
        all.add(key);
        for (long other : picker.others(rng, key, 11)) {
          all.add(other);
        }
        assertEquals(12, all.size());
      }
    }
  }

  private static Arrivals arrivals(ArrivalsKind kind, Phases phases, RateStep... schedule) {
    return new Arrivals(new Open(100, List.of(schedule), kind, 10, 0), phases, 3);
  }

  @Test
  void constantArrivalsAreAtTheirTimes() {
    Arrivals constant = arrivals(ArrivalsKind.CONSTANT, new Phases(0, 1, 1, null, null, 1));
    for (int number = 0; number < 500; number++) {
      assertTrue(Math.abs(number * 10_000_000L - constant.nextNs()) <= 1);
      constant.advance();
    }
  }

  @Test
  void theRateRisesInTheRampUpAndFollowsItsSchedule() {
    Phases phases = new Phases(2, 1, 10, null, null, 1);
    Arrivals arrivals = arrivals(ArrivalsKind.CONSTANT, phases, new RateStep(50, 2), new RateStep(200, 1));
    int[] each = new int[8];
    while (arrivals.nextNs() < 8_000_000_000L - 1) {
      each[(int) (arrivals.nextNs() / 1_000_000_000L)]++;
      arrivals.advance();
    }
    int[] expected = {25, 75, 100, 50, 50, 200, 200, 200};
    for (int second = 0; second < each.length; second++) {
      assertEquals(expected[second], each[second], 1, "second " + second);
    }
  }

  @Test
  void poissonArrivalsHaveExponentialGaps() {
    Arrivals poisson = arrivals(ArrivalsKind.POISSON, new Phases(0, 1, 1, null, null, 1));
    long before = 0;
    int longer = 0;
    for (int number = 0; number < DRAWS; number++) {
      longer += poisson.nextNs() - before > 10_000_000 ? 1 : 0;
      before = poisson.nextNs();
      poisson.advance();
    }
    assertEquals(DRAWS * 0.01e9, before, DRAWS * 0.01e9 * 0.02);
    assertEquals(Math.exp(-1), (double) longer / DRAWS, 0.01);
  }

  private static Workload workload(String example, boolean loaded) throws Refused {
    JsonObject json = Examples.plan(example);
    json.getAsJsonObject("keys").addProperty("count", 1);
    json.getAsJsonObject("keys").addProperty("loaded", loaded);
    return new Workload(Examples.read(json));
  }

  @Test
  void versionsAreFollowed() throws Refused {
    Workload workload = workload("closed", false);
    Rng rng = new Rng(1, 0);
    Request first = workload.begin(rng);
    assertEquals(1, first.version());
    assertFalse(first.known());
    assertTrue(first.alone());
    Request second = workload.begin(rng);
    assertEquals(2, second.version());
    assertFalse(second.alone());
    assertFalse(second.known());
    workload.replied(first, true);
    workload.replied(second, false);
    Request third = workload.begin(rng);
    assertTrue(third.known());
    assertTrue(third.alone());
    assertEquals(3, workload.newest(0));
    assertEquals(2, third.seq());
  }

  @Test
  void whatIsLoadedIsKnownFromTheBeginning() throws Refused {
    Request first = workload("closed", true).begin(new Rng(1, 0));
    assertTrue(first.known());
    assertEquals(2, first.version());
  }

  @Test
  void theNewestWriteOfAKeyIsReadBackUnlessANewerOneBegan() throws Refused {
    Workload workload = workload("closed", false);
    Rng rng = new Rng(1, 0);
    AtomicInteger skipped = new AtomicInteger();
    workload.replied(workload.begin(rng), true);
    Request newest = workload.begin(rng);
    workload.replied(newest, true);
    Request readBack = workload.nextReadBack(skipped::incrementAndGet);
    assertEquals(newest.version(), readBack.version());
    assertNull(workload.nextReadBack(skipped::incrementAndGet));
    assertEquals(0, skipped.get());
    Workload overtaken = workload("closed", false);
    overtaken.replied(overtaken.begin(rng), true);
    assertNotNull(overtaken.begin(rng));
    assertNull(overtaken.nextReadBack(skipped::incrementAndGet));
    assertEquals(1, skipped.get());
  }

  @Test
  void operationsAreDrawnByTheirWeights() throws Refused {
    JsonObject json = Examples.plan("hash");
    Workload workload = new Workload(Examples.read(json));
    Rng rng = new Rng(1, 0);
    int[] drawn = new int[3];
    Set<Long> numbers = new HashSet<>();
    for (int count = 0; count < 50_000; count++) {
      Request request = workload.begin(rng);
      drawn[request.operation()]++;
      numbers.add(request.seq());
    }
    assertEquals(0.2, drawn[0] / 50_000.0, 0.01);
    assertEquals(0.6, drawn[1] / 50_000.0, 0.01);
    assertEquals(50_000, numbers.size());
  }

  @Test
  void theMeasurePhaseEndsEarlierAndNeverLater() {
    Plan plan = Examples.read(Examples.plan("closed"));
    Timeline timeline = new Timeline(plan, 1_000);
    long second = 1_000_000_000L;
    assertEquals(Phase.WARM_UP, timeline.phaseOf(1_000));
    assertEquals(Phase.MEASURE, timeline.phaseOf(1_000 + second));
    assertEquals(Phase.DRAIN, timeline.phaseOf(1_000 + 6 * second));
    timeline.endAt(1_000 + 3 * second);
    timeline.endAt(1_000 + 4 * second);
    assertEquals(1_000 + 3 * second, timeline.endNs(Phase.MEASURE));
    timeline.endAt(0);
    assertEquals(1_000, timeline.endNs(Phase.WARM_UP));
    assertEquals(Phase.DRAIN, timeline.phaseOf(1_000));
  }
}

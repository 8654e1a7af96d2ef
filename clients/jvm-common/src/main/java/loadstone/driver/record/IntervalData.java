package loadstone.driver.record;

import java.util.Arrays;
import loadstone.driver.load.Phase;

/** What happened in one interval, by operation. The histograms hold correct replies of its own phase. */
final class IntervalData {
  final Phase phase;
  final long startNs;
  final Tally[] tallies;
  final Latencies[] response;
  final Latencies[] service;

  IntervalData(Phase phase, long startNs, int operations) {
    this.phase = phase;
    this.startNs = startNs;
    tallies = new Tally[operations];
    Arrays.setAll(tallies, operation -> new Tally());
    response = Latencies.ofInterval(operations);
    service = Latencies.ofInterval(operations);
  }

  void add(IntervalData other) {
    for (int operation = 0; operation < tallies.length; operation++) {
      tallies[operation].add(other.tallies[operation]);
      response[operation].add(other.response[operation]);
      service[operation].add(other.service[operation]);
    }
  }
}

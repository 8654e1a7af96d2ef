package loadstone.driver.plan;

import java.util.List;

/**
 * What a driver is to do: the part of {@code python/loadstone/experiment/plan/drive_plan.py} that drivers on the JVM carry out.
 * Same names; units stand last in a name. What is null there is null here.
 */
public record Plan(
    long seed,
    Protocol protocol,
    List<Endpoint> endpoints,
    Model model,
    Pool pool,
    Phases phases,
    List<Operation> operations,
    Keys keys,
    Documents documents,
    Verify verify,
    Timeouts timeouts,
    double intervalS,
    Long startAtUnixNs) {

  public enum Protocol { RESP2, RESP3 }

  /** Where the server listens. Its text holds no secret. */
  public record Endpoint(String host, int port, Tls tls, String username, String password, int database) {
    @Override
    public String toString() {
      return host + ":" + port;
    }
  }

  /** Without {@code caFile} the JVM's own roots are used. */
  public record Tls(String caFile, String serverName, boolean verify) {}

  public sealed interface Model permits Closed, Open {}

  public enum ThinkTime { CONSTANT, EXPONENTIAL }

  public record RampUp(int initialUsers, int stepUsers, double stepEveryS) {}

  /** {@code spinUs} is the engine's: here a user waits as its library does. */
  public record Closed(
      int users, double thinkTimeMs, ThinkTime thinkTime, RampUp rampUp, Long operationsPerUser, Double spinUs)
      implements Model {}

  public enum ArrivalsKind { CONSTANT, POISSON }

  public record RateStep(double ratePerS, double durationS) {}

  public record Open(double ratePerS, List<RateStep> schedule, ArrivalsKind arrivals, long backlogMax, Double spinUs)
      implements Model {}

  public enum Order { LIFO, FIFO }

  public record Pool(int connections, Integer minIdle, Integer maxIdle, Order order) {
    /** Connections that are opened before the load: one at least, so that a server that is not there is found. */
    public int openedBefore() {
      return Math.max(1, Math.min(minIdle == null ? connections : minIdle, connections));
    }
  }

  public record Phases(
      double rampUpS, double warmUpS, double measureS, Long measureOperations, Double measureMaxS, double drainS) {}

  public enum Expect { ANY, OK, INTEGER, DOCUMENT, HASH, FIELD, FIELD_ARRAY, VALUE, ITEM, POSITIVE }

  public record Command(List<String> args, Expect expect) {}

  public enum Writes { NOTHING, DOCUMENT, FIELD }

  public record Operation(String name, double weight, List<Command> commands, Writes writes, Command readBack) {}

  public enum Distribution { SEQUENTIAL, UNIFORM, ZIPF, GAUSSIAN, EXACTLY_ONCE }

  public record Keys(
      String prefix, long count, Distribution distribution, double zipfExponent, double gaussianSd, boolean loaded) {}

  public record Documents(int payloadBytes, int fieldBytes) {}

  public record Verify(boolean replies, boolean countMismatch, int readBackMax) {}

  public record Timeouts(double connectMs, double requestMs, double goneS) {}

  /** The one server. */
  public Endpoint endpoint() {
    return endpoints.get(0);
  }

  /** Whether the load ends without a time limit: each user or key has its number of operations. */
  public boolean endsByItself() {
    return keys.distribution() == Distribution.EXACTLY_ONCE
        || model instanceof Closed closed && closed.operationsPerUser() != null;
  }

  /** The longest measure phase, in seconds. Work that ends by itself is cut short by its limit alone. */
  public double longestMeasureS() {
    boolean byItself = endsByItself();
    if (phases.measureMaxS() != null && (byItself || phases.measureOperations() != null)) {
      return Math.max(phases.measureMaxS(), byItself ? 0 : phases.measureS());
    }
    return byItself ? 4e9 : phases.measureS();
  }
}

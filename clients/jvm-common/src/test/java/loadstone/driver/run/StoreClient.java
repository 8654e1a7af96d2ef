package loadstone.driver.run;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Client;
import loadstone.driver.client.Connection;
import loadstone.driver.client.Replies;

/** A client whose server is a map: GET and SET, with the pool's limit. What happens to a call can be changed. */
class StoreClient implements Client {
  private final Map<String, byte[]> store = new ConcurrentHashMap<>();
  private final Semaphore free;
  private final int size;
  final AtomicLong calls = new AtomicLong();
  final AtomicInteger mostAtOnce = new AtomicInteger();
  private final AtomicInteger atOnce = new AtomicInteger();

  StoreClient(int size) {
    this.size = size;
    free = new Semaphore(size);
  }

  /** What is to happen before a call reaches the store. */
  void before(long call) throws CallFailed {}

  /** What is to happen when a connection is requested. */
  void beforeTaking() throws CallFailed {}

  @Override
  public Connection take() throws CallFailed, InterruptedException {
    beforeTaking();
    free.acquire();
    return new Connection() {
      @Override
      public Object call(byte[][] command) throws CallFailed {
        mostAtOnce.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
        try {
          before(calls.incrementAndGet());
          return reply(command);
        } finally {
          atOnce.decrementAndGet();
        }
      }

      @Override
      public void giveBack() {
        free.release();
      }
    };
  }

  private Object reply(byte[][] command) {
    String key = new String(command[1], UTF_8);
    return switch (new String(command[0], UTF_8)) {
      case "GET" -> store.get(key);
      case "SET" -> {
        store.put(key, command[2]);
        yield new Replies.Status("OK".getBytes(UTF_8));
      }
      default -> new Replies.ServerError("ERR unknown command");
    };
  }

  @Override
  public int callsAtOnce() {
    return size;
  }

  @Override
  public int connected() {
    return size;
  }

  @Override
  public Counts counts() {
    return new Counts(size, 0, 0, 0);
  }
}

package loadstone.driver.run;

import java.util.concurrent.atomic.AtomicReference;

/** The threads of a drive: they end with the process. The first thing that goes wrong in one of them is kept. */
final class Threads {
  private static final long STACK_BYTES = 256 * 1024;

  private final AtomicReference<Throwable> broken = new AtomicReference<>();

  interface Body {
    void run() throws InterruptedException;
  }

  void start(String name, Body body) {
    Runnable guarded = () -> {
      try {
        body.run();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      } catch (RuntimeException | Error error) {
        broken.compareAndSet(null, error);
      }
    };
    Thread thread = new Thread(null, guarded, name, STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
  }

  /** Null if all is well. */
  Throwable broken() {
    return broken.get();
  }
}

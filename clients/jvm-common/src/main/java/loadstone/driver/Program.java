package loadstone.driver;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Client;
import loadstone.driver.client.Library;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.PlanReader;
import loadstone.driver.plan.Refused;
import loadstone.driver.run.Drive;

/** The program of a driver: its plan comes on standard input, its messages go to standard output (docs/drivers.md). */
public final class Program {
  private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
  /** A driver whose parent has gone does not stay longer than this. */
  private static final long ORPHANED_MS = 2000;
  private static final int LONGEST_MESSAGE = 500;

  private final Library library;
  private final PrintStream out;
  private final BufferedReader in;

  private Program(Library library, PrintStream out) {
    this.library = library;
    this.out = out;
    in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
  }

  /** Drives with a library, and ends the process. */
  public static void main(Library library) {
    OutputStream standard = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out));
    PrintStream messages = new PrintStream(standard, false, UTF_8);
    // Nothing that a library prints may stand between the messages.
    System.setOut(System.err);
    int status = new Program(library, messages).run();
    messages.flush();
    // Callers may still wait for a connection or a reply, which nobody needs any more.
    Runtime.getRuntime().halt(status);
  }

  private int run() {
    try {
      String line = in.readLine();
      if (line == null) {
        return 1;
      }
      write(drive(line));
      return 0;
    } catch (Refused refused) {
      return fail("plan", refused.getMessage());
    } catch (CallFailed failed) {
      return fail("connect", failed.getMessage());
    } catch (IOException | InterruptedException | RuntimeException | Error error) {
      return broke(error);
    }
  }

  private JsonObject drive(String line) throws Refused, CallFailed, InterruptedException {
    JsonObject message = message(line);
    Plan plan = PlanReader.read(message.get("plan"));
    Map<String, String> options = new HashMap<>();
    if (message.get("options") instanceof JsonObject given) {
      given.entrySet().forEach(option -> options.put(option.getKey(), option.getValue().getAsString()));
    }
    Client client = open(plan, options);
    Drive drive = new Drive(plan, client, this::write);
    Thread orders = new Thread(() -> follow(drive), "orders");
    orders.setDaemon(true);
    orders.start();
    write(ready());
    JsonObject record = drive.run();
    if (drive.broken() != null) {
      throw new IllegalStateException(drive.broken());
    }
    return record;
  }

  private Client open(Plan plan, Map<String, String> options) throws Refused, CallFailed {
    try {
      return library.open(plan, options);
    } catch (CallFailed failed) {
      boolean isLate = failed.kind == CallFailed.Kind.CONNECT_TIMEOUT;
      String late = "no answer to the connection in time (" + failed.getMessage() + ")";
      throw new CallFailed(failed.kind, plan.endpoint() + ": " + (isLate ? late : failed.getMessage()));
    }
  }

  private static JsonObject message(String line) throws Refused {
    JsonElement json;
    try {
      json = JsonParser.parseString(line);
    } catch (JsonParseException error) {
      // Its message may hold a part of the line, and with it a password.
      throw new Refused("plan", "the first line is no JSON");
    }
    boolean isPlan = json instanceof JsonObject object && object.get("type") != null
        && "plan".equals(object.get("type").getAsString());
    if (!isPlan) {
      throw new Refused("plan", "the first line is no plan");
    }
    return json.getAsJsonObject();
  }

  private JsonObject ready() {
    JsonObject ready = new JsonObject();
    ready.addProperty("type", "ready");
    ready.addProperty("library", library.name());
    ready.addProperty("version", library.version());
    ready.addProperty("runtime", "Java " + Runtime.version());
    return ready;
  }

  /** Follows orders until the input ends: whatever else comes, there is only one. */
  private void follow(Drive drive) {
    try {
      String line = in.readLine();
      drive.stop(Drive.STOPPED);
      while (line != null) {
        line = in.readLine();
      }
      Thread.sleep(ORPHANED_MS);
    } catch (IOException | InterruptedException error) {
      drive.stop(Drive.STOPPED);
    }
    Runtime.getRuntime().halt(1);
  }

  private synchronized void write(JsonObject message) {
    out.println(GSON.toJson(message));
    out.flush();
  }

  private int fail(String kind, String text) {
    String line = text.replaceAll("\\s+", " ").strip();
    JsonObject failed = new JsonObject();
    failed.addProperty("type", "failed");
    failed.addProperty("kind", kind);
    failed.addProperty("message", line.length() > LONGEST_MESSAGE ? line.substring(0, LONGEST_MESSAGE) : line);
    write(failed);
    return 1;
  }

  private int broke(Throwable error) {
    error.printStackTrace();
    Throwable cause = error.getCause() == null ? error : error.getCause();
    return fail("internal", cause.getClass().getSimpleName() + ": " + cause.getMessage());
  }
}

package loadstone.driver;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.PlanReader;
import loadstone.driver.plan.Refused;

/** The examples of the contract, which drivers in every language are tested with. */
public final class Examples {
  private static final Path FOLDER = Path.of("../../tests/examples/driver");

  private Examples() {}

  public static JsonObject read(String name) {
    try {
      return JsonParser.parseString(Files.readString(FOLDER.resolve(name))).getAsJsonObject();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** A plan that can be changed before it is read. */
  public static JsonObject plan(String name) {
    return read("plan-" + name + ".json").getAsJsonObject("plan");
  }

  public static Plan read(JsonObject plan) {
    try {
      return PlanReader.read(plan);
    } catch (Refused refused) {
      throw new IllegalArgumentException(refused);
    }
  }
}

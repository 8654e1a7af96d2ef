package loadstone.driver.plan;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import loadstone.driver.Examples;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlanReaderTest {
  @ParameterizedTest
  @ValueSource(strings = {"closed", "hash", "open", "string-update"})
  void everyExampleIsRead(String name) {
    assertFalse(Examples.read(Examples.plan(name)).operations().isEmpty());
  }

  /** What this driver would leave out, or take for zero, would be another load than the planned one. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "format             | 2        | format: ",
      "pipeline_depth     | 2        | pipeline_depth: ",
      "colour             | 1        | colour: this driver does not know it",
      "model.colour       | 1        | colour: this driver does not know it",
      "timeouts.gone_s    | null     | gone_s: is missing",
      "keys.count         | \"many\" | many",
      "keys.distribution  | \"odd\"  | distribution: \"odd\"",
      "pool               | 3        | plan: ",
      "endpoints          | [{}, {}] | endpoints: ",
  })
  void whatCannotBeDrivenIsRefused(String field, String value, String said) {
    JsonObject plan = Examples.plan("closed");
    String[] names = field.split("\\.");
    JsonObject object = names.length == 1 ? plan : plan.getAsJsonObject(names[0]);
    object.add(names[names.length - 1], JsonParser.parseString(value));
    Refused refused = assertThrows(Refused.class, () -> PlanReader.read(plan));
    assertTrue(refused.getMessage().contains(said), refused.getMessage());
  }

  @Test
  void aCertificateIsVerifiedUnlessThePlanSaysOtherwise() {
    JsonObject plan = Examples.plan("closed");
    JsonObject endpoint = plan.getAsJsonArray("endpoints").get(0).getAsJsonObject();
    endpoint.add("tls", JsonParser.parseString("{}"));
    Refused refused = assertThrows(Refused.class, () -> PlanReader.read(plan));
    assertTrue(refused.getMessage().contains("verify: is missing"), refused.getMessage());
  }
}

package loadstone.driver.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import loadstone.driver.Examples;
import loadstone.driver.plan.Plan.Closed;
import loadstone.driver.plan.Plan.Expect;
import loadstone.driver.plan.Plan.Open;
import loadstone.driver.plan.Plan.Writes;
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

  @Test
  void valuesAreTakenOver() {
    Plan plan = Examples.read(Examples.plan("hash"));
    assertEquals(5, plan.seed());
    assertEquals("127.0.0.1:6379", plan.endpoint().toString());
    assertEquals(8, ((Closed) plan.model()).users());
    assertEquals(4, plan.pool().maxIdle());
    assertEquals(2, plan.pool().openedBefore());
    assertEquals(Writes.FIELD, plan.operations().get(2).writes());
    assertEquals(Expect.FIELD, plan.operations().get(2).readBack().expect());
    assertTrue(plan.keys().loaded());
    assertNull(plan.startAtUnixNs());
    Plan open = Examples.read(Examples.plan("open"));
    assertEquals(2, ((Open) open.model()).schedule().size());
    assertFalse(open.endpoint().toString().contains("secret"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "acknowledged                | true          | acknowledged: ",
      "pipeline_depth              | 2             | pipeline_depth: ",
      "format                      | 2             | format: ",
      "colour                      | 1             | colour: ",
      "keys.count                  | \"many\"      | keys.count: ",
      "keys.distribution           | \"other\"     | keys.distribution: other: ",
      "protocol                    | \"http1\"     | protocol: http1: ",
      "timeouts.connect_ms         | null          | timeouts.connect_ms: is missing",
      "pool                        | 3             | pool: is no object",
      "model.users                 | 20000         | model.users: 20000: ",
      "model.operations_more       | 1             | model.operations_more: ",
      "operations                  | []            | operations: ",
      "endpoints                   | [{}, {}]      | endpoints: 2 of them",
  })
  void whatCannotBeDrivenIsRefusedByItsName(String field, String value, String said) {
    JsonObject plan = Examples.plan("closed");
    JsonObject object = plan;
    String[] names = field.strip().split("\\.");
    for (int part = 0; part < names.length - 1; part++) {
      object = object.getAsJsonObject(names[part]);
    }
    object.add(names[names.length - 1], JsonParser.parseString(value));
    Refused refused = assertThrows(Refused.class, () -> PlanReader.read(plan));
    assertTrue(refused.getMessage().startsWith(said.strip()), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"unix_path, \"/tmp/redis\"", "slots, '[[0, 16383]]'"})
  void whatAnEndpointCannotHaveIsRefused(String name, String value) {
    JsonObject plan = Examples.plan("closed");
    plan.getAsJsonArray("endpoints").get(0).getAsJsonObject().add(name, JsonParser.parseString(value));
    Refused refused = assertThrows(Refused.class, () -> PlanReader.read(plan));
    assertTrue(refused.getMessage().startsWith("endpoints[0]." + name), refused.getMessage());
  }

  @Test
  void workThatEndsByItselfHasNoOtherEnd() {
    JsonObject json = Examples.plan("closed");
    assertEquals(5, Examples.read(json).longestMeasureS());
    json.getAsJsonObject("phases").addProperty("measure_operations", 10);
    json.getAsJsonObject("phases").addProperty("measure_max_s", 9);
    assertEquals(9, Examples.read(json).longestMeasureS());
    json.getAsJsonObject("model").addProperty("operations_per_user", 10);
    json.getAsJsonObject("phases").addProperty("measure_max_s", 2);
    assertEquals(2, Examples.read(json).longestMeasureS());
  }
}

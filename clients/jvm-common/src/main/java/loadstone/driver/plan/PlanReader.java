package loadstone.driver.plan;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonDeserializationContext;
import com.google.gson.JsonDeserializer;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.lang.reflect.Type;
import java.util.Locale;
import loadstone.driver.plan.Plan.Closed;
import loadstone.driver.plan.Plan.Model;
import loadstone.driver.plan.Plan.Open;

/** Reads a plan from JSON, and refuses by the name of the field what drivers on the JVM cannot do. */
public final class PlanReader {
  private static final int MOST_USERS = 10_000;
  private static final Gson GSON = new GsonBuilder()
      .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
      .registerTypeHierarchyAdapter(Enum.class, (JsonDeserializer<Object>) PlanReader::choice)
      .registerTypeAdapter(Model.class, (JsonDeserializer<Model>) PlanReader::model)
      .create();

  private PlanReader() {}

  public static Plan read(JsonElement json) throws Refused {
    if (!(json instanceof JsonObject written)) {
      throw new Refused("plan", "is no object");
    }
    requireDrivable(written);
    Plan plan;
    try {
      plan = GSON.fromJson(written, Plan.class);
    } catch (JsonParseException error) {
      // It says where, and of what kind the value is.
      throw new Refused("plan", "it is not as docs/plan.schema.json has it (" + error.getMessage() + ")");
    }
    if (plan.operations().isEmpty() || plan.operations().stream().anyMatch(each -> each.commands().isEmpty())) {
      throw new Refused("operations", "name at least one, each with a command");
    }
    if (plan.model() instanceof Closed closed && closed.users() > MOST_USERS) {
      throw new Refused("model.users", closed.users() + ": this driver has a thread a user; use at most " + MOST_USERS);
    }
    return plan;
  }

  private static void requireDrivable(JsonObject plan) throws Refused {
    without(plan, "", "data", "a data file is for HTTP");
    without(plan, "", "recording", "a recording is sent again by the native engine alone");
    without(plan, "", "acknowledged", "true: this driver does not report which writes were acknowledged");
    if (plan.get("pipeline_depth") != null && plan.get("pipeline_depth").getAsInt() != 1) {
      throw new Refused("pipeline_depth", "this driver sends one command at a time over a connection; set it to 1");
    }
    if (!(plan.get("endpoints") instanceof JsonArray endpoints && endpoints.size() == 1)) {
      throw new Refused("endpoints", "this driver drives one server");
    }
    JsonObject endpoint = endpoints.get(0).getAsJsonObject();
    without(endpoint, "endpoints[0].", "unix_path", "this driver connects by TCP");
    without(endpoint, "endpoints[0].", "slots", "this driver drives no cluster");
    if (endpoint.get("tls") instanceof JsonObject tls) {
      without(tls, "endpoints[0].tls.", "cert_file", "this driver has no certificate of its own");
    }
    if (plan.get("model") instanceof JsonObject model) {
      without(model, "model.", "operations_more", "each user of this driver does as many operations as the others");
    }
  }

  /** Refuses a member that asks for what this driver cannot do: anything but absent, null, empty, zero or false. */
  private static void without(JsonObject object, String place, String name, String why) throws Refused {
    JsonElement member = object.get(name);
    if (member != null && !member.toString().matches("null|0|false|\"\"|\\[]|\\{}")) {
      throw new Refused(place + name, why);
    }
  }

  private static Model model(JsonElement json, Type type, JsonDeserializationContext context) {
    boolean isClosed = json.getAsJsonObject().get("kind").getAsString().equals("closed");
    return context.deserialize(json, isClosed ? Closed.class : Open.class);
  }

  /** A constant by its name in small letters. */
  private static Object choice(JsonElement json, Type type, JsonDeserializationContext context) {
    for (Object constant : ((Class<?>) type).getEnumConstants()) {
      if (constant.toString().toLowerCase(Locale.ROOT).equals(json.getAsString())) {
        return constant;
      }
    }
    String field = ((Class<?>) type).getSimpleName().toLowerCase(Locale.ROOT);
    throw new JsonParseException(field + ": " + json + ": this driver does not know it");
  }
}

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
import com.google.gson.TypeAdapter;
import com.google.gson.TypeAdapterFactory;
import com.google.gson.reflect.TypeToken;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import loadstone.driver.plan.Plan.Closed;
import loadstone.driver.plan.Plan.Model;
import loadstone.driver.plan.Plan.Open;

/** Reads a plan from JSON, and refuses by the name of the field what drivers on the JVM cannot do. */
public final class PlanReader {
  private static final int MOST_USERS = 10_000;
  /** Members that stand in no record: they are checked by themselves, or mean nothing to a driver on the JVM. */
  private static final Set<String> BESIDE = Set.of(
      "format", "threads", "cpus", "back_end", "acknowledged", "data", "recording", "pipeline_depth", "unix_path",
      "slots", "base_path", "secret_headers", "cert_file", "key_file", "kind", "operations_more", "requests",
      "reply_max_bytes");
  private static final Gson GSON = new GsonBuilder()
      .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
      .registerTypeAdapterFactory(new TypeAdapterFactory() {
        @Override
        public <T> TypeAdapter<T> create(Gson gson, TypeToken<T> type) {
          return type.getRawType().isRecord() ? whole(gson, type, gson.getDelegateAdapter(this, type)) : null;
        }
      })
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

  /** Reads a record, and refuses a member that it does not know, and one that is missing and cannot be null. */
  private static <T> TypeAdapter<T> whole(Gson gson, TypeToken<T> type, TypeAdapter<T> reads) {
    return new TypeAdapter<>() {
      @Override
      public T read(JsonReader in) throws IOException {
        JsonElement written = gson.getAdapter(JsonElement.class).read(in);
        if (written.isJsonNull()) {
          return null;
        }
        JsonObject object = written.getAsJsonObject();
        Set<String> unknown = new HashSet<>(object.keySet());
        unknown.removeAll(BESIDE);
        for (RecordComponent component : type.getRawType().getRecordComponents()) {
          String name = component.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
          if (component.getType().isPrimitive() && (object.get(name) == null || object.get(name).isJsonNull())) {
            throw new JsonParseException(name + ": is missing");
          }
          unknown.remove(name);
        }
        if (!unknown.isEmpty()) {
          throw new JsonParseException(unknown.iterator().next() + ": this driver does not know it");
        }
        return reads.fromJsonTree(object);
      }

      @Override
      public void write(JsonWriter out, T value) {
        throw new UnsupportedOperationException("plans are read");
      }
    };
  }

  private static void requireDrivable(JsonObject plan) throws Refused {
    if (plan.get("format") == null || plan.get("format").getAsInt() != 1) {
      throw new Refused("format", "this driver reads format 1");
    }
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

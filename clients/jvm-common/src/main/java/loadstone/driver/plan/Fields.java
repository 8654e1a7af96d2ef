package loadstone.driver.plan;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** The members of one JSON object of a plan, each taken by its name; what nobody takes is refused by {@link #end}. */
final class Fields {
  private final JsonObject object;
  private final String place;
  private final Set<String> taken = new HashSet<>();

  Fields(JsonElement element, String place) throws Refused {
    if (element == null || !element.isJsonObject()) {
      throw new Refused(place.isEmpty() ? "plan" : place, "is no object");
    }
    this.object = element.getAsJsonObject();
    this.place = place;
  }

  /** The full name of a member. */
  String of(String name) {
    return place.isEmpty() ? name : place + "." + name;
  }

  /** A member, or null where it is absent or null. */
  JsonElement optional(String name) {
    taken.add(name);
    JsonElement element = object.get(name);
    return element == null || element.isJsonNull() ? null : element;
  }

  private JsonElement required(String name) throws Refused {
    JsonElement element = optional(name);
    if (element == null) {
      throw new Refused(of(name), "is missing");
    }
    return element;
  }

  Fields object(String name) throws Refused {
    return new Fields(required(name), of(name));
  }

  Fields optionalObject(String name) throws Refused {
    JsonElement element = optional(name);
    return element == null ? null : new Fields(element, of(name));
  }

  List<Fields> objects(String name) throws Refused {
    List<Fields> found = new ArrayList<>();
    for (JsonElement element : elements(name)) {
      found.add(new Fields(element, of(name) + "[" + found.size() + "]"));
    }
    return found;
  }

  List<String> texts(String name) throws Refused {
    List<String> found = new ArrayList<>();
    for (JsonElement element : elements(name)) {
      found.add(element.getAsString());
    }
    return found;
  }

  private Iterable<JsonElement> elements(String name) throws Refused {
    JsonElement element = required(name);
    if (!element.isJsonArray()) {
      throw new Refused(of(name), "is no list");
    }
    return element.getAsJsonArray();
  }

  String text(String name) throws Refused {
    return required(name).getAsString();
  }

  String optionalText(String name) {
    JsonElement element = optional(name);
    return element == null ? null : element.getAsString();
  }

  double number(String name) throws Refused {
    try {
      return required(name).getAsDouble();
    } catch (NumberFormatException | UnsupportedOperationException | IllegalStateException error) {
      throw new Refused(of(name), "is no number");
    }
  }

  long integer(String name) throws Refused {
    Long value = optionalInteger(name);
    if (value == null) {
      throw new Refused(of(name), "is missing");
    }
    return value;
  }

  Long optionalInteger(String name) throws Refused {
    JsonElement element = optional(name);
    try {
      return element == null ? null : element.getAsLong();
    } catch (NumberFormatException | UnsupportedOperationException | IllegalStateException error) {
      throw new Refused(of(name), "is no integer");
    }
  }

  boolean flag(String name) throws Refused {
    return required(name).getAsBoolean();
  }

  <E extends Enum<E>> E choice(String name, Class<E> choices) throws Refused {
    String text = text(name);
    for (E choice : choices.getEnumConstants()) {
      if (choice.name().toLowerCase(Locale.ROOT).equals(text)) {
        return choice;
      }
    }
    throw new Refused(of(name), text + ": this driver does not know it");
  }

  /** Refuses a member that asks for what this driver cannot do: anything but absent, null, empty, zero or false. */
  void without(String name, String why) throws Refused {
    JsonElement element = optional(name);
    boolean asks = element != null
        && !(element.isJsonArray() && element.getAsJsonArray().isEmpty())
        && !(element.isJsonObject() && element.getAsJsonObject().isEmpty())
        && !(element.isJsonPrimitive() && Set.of("", "0", "false").contains(element.getAsString()));
    if (asks) {
      throw new Refused(of(name), why);
    }
  }

  /** Members that mean nothing to this driver. */
  void ignore(String... names) {
    taken.addAll(List.of(names));
  }

  /** Refuses a member that nobody took: what it means is not known here. */
  void end() throws Refused {
    for (String name : object.keySet()) {
      if (!taken.contains(name)) {
        throw new Refused(of(name), "this driver does not know it");
      }
    }
  }
}

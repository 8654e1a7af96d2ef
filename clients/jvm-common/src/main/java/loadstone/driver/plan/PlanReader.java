package loadstone.driver.plan;

import com.google.gson.JsonElement;
import java.util.ArrayList;
import java.util.List;
import loadstone.driver.plan.Plan.ArrivalsKind;
import loadstone.driver.plan.Plan.Closed;
import loadstone.driver.plan.Plan.Command;
import loadstone.driver.plan.Plan.Distribution;
import loadstone.driver.plan.Plan.Documents;
import loadstone.driver.plan.Plan.Endpoint;
import loadstone.driver.plan.Plan.Expect;
import loadstone.driver.plan.Plan.Keys;
import loadstone.driver.plan.Plan.Model;
import loadstone.driver.plan.Plan.Open;
import loadstone.driver.plan.Plan.Operation;
import loadstone.driver.plan.Plan.Order;
import loadstone.driver.plan.Plan.Phases;
import loadstone.driver.plan.Plan.Pool;
import loadstone.driver.plan.Plan.Protocol;
import loadstone.driver.plan.Plan.RampUp;
import loadstone.driver.plan.Plan.RateStep;
import loadstone.driver.plan.Plan.ThinkTime;
import loadstone.driver.plan.Plan.Timeouts;
import loadstone.driver.plan.Plan.Tls;
import loadstone.driver.plan.Plan.Verify;
import loadstone.driver.plan.Plan.Writes;

/** Reads a plan from JSON, and refuses by the name of the field what drivers on the JVM cannot do. */
public final class PlanReader {
  private static final int MOST_USERS = 10_000;

  private PlanReader() {}

  public static Plan read(JsonElement json) throws Refused {
    Fields plan = new Fields(json, "");
    if (plan.integer("format") != 1) {
      throw new Refused("format", "this driver reads format 1");
    }
    // Threads are the users'; the CPUs are given to the process.
    plan.ignore("threads", "cpus", "back_end");
    plan.without("data", "a data file is for HTTP");
    plan.without("recording", "a recording is sent again by the native engine alone");
    plan.without("acknowledged", "true: this driver does not report which writes were acknowledged");
    if (plan.integer("pipeline_depth") != 1) {
      throw new Refused("pipeline_depth", "this driver sends one command at a time over a connection; set it to 1");
    }
    Plan read = new Plan(
        plan.integer("seed"),
        plan.choice("protocol", Protocol.class),
        endpoint(plan),
        model(plan.object("model")),
        pool(plan.object("pool")),
        phases(plan.object("phases")),
        operations(plan),
        keys(plan.object("keys")),
        documents(plan.object("documents")),
        verify(plan.object("verify")),
        timeouts(plan.object("timeouts")),
        plan.number("interval_s"),
        plan.optionalInteger("start_at_unix_ns"));
    plan.end();
    return read;
  }

  private static Endpoint endpoint(Fields plan) throws Refused {
    List<Fields> endpoints = plan.objects("endpoints");
    if (endpoints.size() != 1) {
      throw new Refused("endpoints", endpoints.size() + " of them: this driver drives one server");
    }
    Fields fields = endpoints.get(0);
    fields.without("unix_path", "this driver connects by TCP");
    fields.without("slots", "this driver drives no cluster");
    fields.without("base_path", "is for HTTP");
    fields.without("secret_headers", "are for HTTP");
    Endpoint endpoint = new Endpoint(
        fields.text("host"),
        (int) fields.integer("port"),
        tls(fields.optionalObject("tls")),
        fields.optionalText("username"),
        fields.optionalText("password"),
        (int) fields.integer("database"));
    fields.end();
    return endpoint;
  }

  private static Tls tls(Fields fields) throws Refused {
    if (fields == null) {
      return null;
    }
    fields.without("cert_file", "this driver has no certificate of its own");
    fields.without("key_file", "this driver has no certificate of its own");
    Tls tls = new Tls(fields.optionalText("ca_file"), fields.optionalText("server_name"), fields.flag("verify"));
    fields.end();
    return tls;
  }

  private static Model model(Fields fields) throws Refused {
    Model model = fields.text("kind").equals("closed") ? closed(fields) : open(fields);
    fields.end();
    return model;
  }

  private static Closed closed(Fields fields) throws Refused {
    Fields steps = fields.optionalObject("ramp_up");
    RampUp rampUp = null;
    if (steps != null) {
      rampUp = new RampUp(
          (int) steps.integer("initial_users"), (int) steps.integer("step_users"), steps.number("step_every_s"));
      steps.end();
    }
    long users = fields.integer("users");
    if (users > MOST_USERS) {
      throw new Refused(fields.of("users"), users + ": this driver has a thread a user; use at most " + MOST_USERS);
    }
    fields.without("operations_more", "each user of this driver does as many operations as the others");
    return new Closed(
        (int) users,
        fields.number("think_time_ms"),
        fields.choice("think_time", ThinkTime.class),
        rampUp,
        fields.optionalInteger("operations_per_user"));
  }

  private static Open open(Fields fields) throws Refused {
    List<RateStep> schedule = new ArrayList<>();
    for (Fields step : fields.objects("schedule")) {
      schedule.add(new RateStep(step.number("rate_per_s"), step.number("duration_s")));
      step.end();
    }
    return new Open(
        fields.number("rate_per_s"),
        List.copyOf(schedule),
        fields.choice("arrivals", ArrivalsKind.class),
        fields.integer("backlog_max"),
        fields.optional("spin_us") == null ? 0 : fields.number("spin_us"));
  }

  private static Pool pool(Fields fields) throws Refused {
    Pool pool = new Pool(
        (int) fields.integer("connections"),
        optionalInt(fields, "min_idle"),
        optionalInt(fields, "max_idle"),
        fields.choice("order", Order.class));
    fields.end();
    return pool;
  }

  private static Integer optionalInt(Fields fields, String name) throws Refused {
    Long value = fields.optionalInteger(name);
    return value == null ? null : (Integer) value.intValue();
  }

  private static Phases phases(Fields fields) throws Refused {
    Phases phases = new Phases(
        fields.number("ramp_up_s"),
        fields.number("warm_up_s"),
        fields.number("measure_s"),
        fields.optionalInteger("measure_operations"),
        fields.optional("measure_max_s") == null ? null : (Double) fields.number("measure_max_s"),
        fields.number("drain_s"));
    fields.end();
    return phases;
  }

  private static List<Operation> operations(Fields plan) throws Refused {
    List<Operation> operations = new ArrayList<>();
    for (Fields fields : plan.objects("operations")) {
      fields.without("requests", "are HTTP");
      List<Command> commands = new ArrayList<>();
      for (Fields command : fields.objects("commands")) {
        commands.add(command(command));
      }
      if (commands.isEmpty()) {
        throw new Refused(fields.of("commands"), "[]: name at least one command");
      }
      Fields readBack = fields.optionalObject("read_back");
      operations.add(new Operation(
          fields.text("name"),
          fields.number("weight"),
          List.copyOf(commands),
          fields.choice("writes", Writes.class),
          readBack == null ? null : command(readBack)));
      fields.end();
    }
    if (operations.isEmpty()) {
      throw new Refused("operations", "[]: name at least one operation");
    }
    return List.copyOf(operations);
  }

  private static Command command(Fields fields) throws Refused {
    Command command = new Command(fields.texts("args"), fields.choice("expect", Expect.class));
    fields.end();
    return command;
  }

  private static Keys keys(Fields fields) throws Refused {
    Keys keys = new Keys(
        fields.text("prefix"),
        fields.integer("count"),
        fields.choice("distribution", Distribution.class),
        fields.number("zipf_exponent"),
        fields.number("gaussian_sd"),
        fields.flag("loaded"));
    fields.end();
    return keys;
  }

  private static Documents documents(Fields fields) throws Refused {
    Documents documents =
        new Documents((int) fields.integer("payload_bytes"), (int) fields.integer("field_bytes"));
    fields.end();
    return documents;
  }

  private static Verify verify(Fields fields) throws Refused {
    // A library reads a reply whole, however long it is.
    fields.ignore("reply_max_bytes");
    Verify verify = new Verify(
        fields.flag("replies"), fields.flag("count_mismatch"), (int) fields.integer("read_back_max"));
    fields.end();
    return verify;
  }

  private static Timeouts timeouts(Fields fields) throws Refused {
    Timeouts timeouts =
        new Timeouts(fields.number("connect_ms"), fields.number("request_ms"), fields.number("gone_s"));
    fields.end();
    return timeouts;
  }
}

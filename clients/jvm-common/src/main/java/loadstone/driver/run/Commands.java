package loadstone.driver.run;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import loadstone.driver.content.Template;
import loadstone.driver.content.Text;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Command;
import loadstone.driver.plan.Plan.Expect;
import loadstone.driver.plan.Plan.Operation;
import loadstone.driver.plan.Plan.Writes;
import loadstone.driver.plan.Refused;
import loadstone.driver.reply.Judge.Strict;

/** The commands of a plan, parsed once. For all threads. */
final class Commands {
  /** A command; {@code name}: the place in {@link #names} of the name that it is counted under. */
  record Step(List<Template> arguments, Expect expect, Strict strict, int name) {
    byte[][] render(Template.Filling filling, Text scratch) {
      byte[][] rendered = new byte[arguments.size()][];
      for (int argument = 0; argument < rendered.length; argument++) {
        rendered[argument] = arguments.get(argument).render(filling, scratch);
      }
      return rendered;
    }
  }

  private final List<List<Step>> steps = new ArrayList<>();
  private final List<Step> readBacks = new ArrayList<>();
  private final List<String> names = new ArrayList<>();
  private final Template.Parser parser;

  Commands(Plan plan) throws Refused {
    parser = new Template.Parser(plan.keys().prefix());
    for (Operation operation : plan.operations()) {
      String field = "operations[" + steps.size() + "]";
      List<Step> own = new ArrayList<>();
      for (Command command : operation.commands()) {
        own.add(step(command, Strict.NO, field + ".commands[" + own.size() + "]"));
      }
      Command readBack = operation.readBack();
      steps.add(List.copyOf(own));
      readBacks.add(readBack == null ? null : step(readBack, strict(operation), field + ".read_back"));
    }
  }

  /** The distinct names of commands, in capitals. */
  List<String> names() {
    return names;
  }

  /** The commands of the plan's operation of that number. */
  List<Step> of(int operation) {
    return steps.get(operation);
  }

  /** The read-back of the plan's operation of that number; null if it has none. */
  Step readBack(int operation) {
    return readBacks.get(operation);
  }

  private Step step(Command command, Strict strict, String field) throws Refused {
    List<Template> arguments = new ArrayList<>();
    for (String argument : command.args()) {
      arguments.add(parser.parse(argument, field + ".args[" + arguments.size() + "]"));
    }
    String name = command.args().get(0).toUpperCase(Locale.ROOT);
    if (!names.contains(name)) {
      names.add(name);
    }
    return new Step(List.copyOf(arguments), command.expect(), strict, names.indexOf(name));
  }

  /** What must be there when an operation is read back. */
  private static Strict strict(Operation operation) {
    boolean writesValue = operation.commands().stream()
        .anyMatch(command -> command.args().stream().anyMatch(argument -> argument.contains("{value}")));
    boolean readsValue = operation.readBack().expect() == Expect.VALUE;
    if (operation.writes() == Writes.NOTHING || readsValue && operation.writes() == Writes.DOCUMENT && !writesValue) {
      return Strict.NO;
    }
    if (operation.writes() == Writes.FIELD) {
      return Strict.FIELD;
    }
    return readsValue ? Strict.VALUE : Strict.DOCUMENT;
  }
}

package loadstone.driver.client;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** Versions of libraries, as their own jars have them. */
public final class Versions {
  private Versions() {}

  /** The version of a Maven artifact that the program runs with. */
  public static String of(String group, String artifact) {
    String resource = "/META-INF/maven/" + group + "/" + artifact + "/pom.properties";
    Properties properties = new Properties();
    try (InputStream stream = Versions.class.getResourceAsStream(resource)) {
      if (stream != null) {
        properties.load(stream);
      }
    } catch (IOException error) {
      // Without it the version is not known.
    }
    return properties.getProperty("version", "unknown");
  }
}

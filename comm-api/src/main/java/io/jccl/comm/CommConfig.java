package io.jccl.comm;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.UnaryOperator;

/**
 * The configuration: for each {@link ConfigKey}, what was set in code, else the system property,
 * else the environment variable, else {@code jccl.properties} on the class path, else the default.
 * Immutable, except that system properties are read when asked for.
 */
public final class CommConfig {
  /** Which provider serves: its name, or {@code auto} for the best that every rank has. */
  public static final ConfigKey<String> BACKEND = ConfigKey.string("jccl.backend", "auto");

  /** The deadline of every call and wait that is given none. */
  public static final ConfigKey<Duration> TIMEOUT =
      ConfigKey.duration("jccl.timeout", Duration.ofMinutes(10));

  /**
   * Whether ranks make sure through the store that all have chosen the same backend. Set it to
   * false, and name the backend, in a world that has ranks of other languages.
   */
  public static final ConfigKey<Boolean> AGREE = ConfigKey.bool("jccl.agree", true);

  /**
   * Whether ranks compare each collective before they run it: operation, dtype, reduction, root and
   * sizes. Slow, since each call goes through the store; set it alike on every rank.
   */
  public static final ConfigKey<Boolean> CHECK = ConfigKey.bool("jccl.check", false);

  /**
   * The folder into which a rank writes its last calls when one fails, as {@code
   * jccl-flight-rank3.txt}; none unless set. {@code jccl flight} reads the files of all ranks.
   */
  public static final ConfigKey<String> FLIGHT_DIR = ConfigKey.string("jccl.flight.dir", "");

  /** How many calls of each communicator are kept for {@link #FLIGHT_DIR}. */
  public static final ConfigKey<Integer> FLIGHT_CALLS =
      ConfigKey.integer("jccl.flight.calls", 256, 1, 1 << 20);

  /**
   * Names of hooks to use, such as {@code log,nan}, told of each call in this order; those without
   * a name are used besides. See {@link CommHook}.
   */
  public static final ConfigKey<String> HOOKS = ConfigKey.string("jccl.hooks", "");

  private static final String FILE = "jccl.properties";

  private final Map<String, String> explicit;
  private final UnaryOperator<String> systemProperties;
  private final UnaryOperator<String> environment;
  private final Properties file;

  private CommConfig(
      Map<String, String> explicit,
      UnaryOperator<String> systemProperties,
      UnaryOperator<String> environment,
      Properties file) {
    this.explicit = Map.copyOf(explicit);
    this.systemProperties = systemProperties;
    this.environment = environment;
    this.file = file;
  }

  /**
   * {@return the configuration of this process}
   *
   * @throws IllegalArgumentException if {@code jccl.properties} is there and cannot be read
   */
  public static CommConfig load() {
    return new CommConfig(Map.of(), System::getProperty, System::getenv, loadFile());
  }

  /**
   * {@return a configuration of nothing but defaults, for tests and for hosts that set all in code}
   */
  public static CommConfig empty() {
    return new CommConfig(Map.of(), name -> null, name -> null, new Properties());
  }

  /**
   * {@return a configuration read from other places than this process's own} A reader returns null
   * for what is not set.
   *
   * @param systemProperties gives the value of a system property, or null
   * @param environment gives the value of an environment variable, or null
   */
  public static CommConfig reading(
      UnaryOperator<String> systemProperties, UnaryOperator<String> environment) {
    return new CommConfig(Map.of(), systemProperties, environment, new Properties());
  }

  /**
   * {@return this configuration with one value set in code, which wins over all other places}
   *
   * @param <T> the type of the value
   * @param key what is asked for
   * @param value the value, as it would be written in a property
   */
  public <T> CommConfig with(ConfigKey<T> key, String value) {
    key.parse(value, "code");
    Map<String, String> more = new HashMap<>(explicit);
    more.put(key.name(), value);
    return new CommConfig(more, systemProperties, environment, file);
  }

  /**
   * {@return the value of a key}
   *
   * @param <T> the type of the value
   * @param key what is asked for
   * @throws IllegalArgumentException if what is set cannot be read as the key's type; the message
   *     says what was set, where, and what was expected
   */
  public <T> T get(ConfigKey<T> key) {
    return find(key).orElse(key.defaultValue());
  }

  /**
   * {@return the value of a key if it is set anywhere}
   *
   * @param <T> the type of the value
   * @param key what is asked for
   */
  public <T> Optional<T> find(ConfigKey<T> key) {
    String text = explicit.get(key.name());
    if (text != null) {
      return Optional.of(key.parse(text, "code"));
    }
    text = systemProperties.apply(key.name());
    if (text != null) {
      return Optional.of(key.parse(text, "-D" + key.name()));
    }
    text = variable(key.environmentName());
    if (text != null) {
      return Optional.of(key.parse(text, "the environment's " + key.environmentName()));
    }
    text = file.getProperty(key.name());
    return text == null
        ? Optional.empty()
        : Optional.of(key.parse(text, FILE + " on the class path"));
  }

  /**
   * {@return where the value of a key comes from, for messages: {@code -Djccl.backend}}
   *
   * @param key what is asked for
   */
  public String sourceOf(ConfigKey<?> key) {
    if (explicit.containsKey(key.name())) {
      return "code";
    }
    if (systemProperties.apply(key.name()) != null) {
      return "-D" + key.name();
    }
    if (variable(key.environmentName()) != null) {
      return "the environment's " + key.environmentName();
    }
    return file.getProperty(key.name()) != null ? FILE + " on the class path" : "the default";
  }

  /**
   * {@return a variable of the environment as launchers set them, such as {@code RANK}; empty also
   * if it is set to nothing}
   *
   * @param name the name of the variable
   */
  public Optional<String> environmentVariable(String name) {
    return Optional.ofNullable(variable(name));
  }

  /** Scripts that cannot unset a variable set it to nothing, and mean the same. */
  private String variable(String name) {
    String text = environment.apply(name);
    return text == null || text.isBlank() ? null : text;
  }

  private static Properties loadFile() {
    Properties properties = new Properties();
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    try (InputStream in =
        (loader == null ? ClassLoader.getSystemClassLoader() : loader).getResourceAsStream(FILE)) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException | IllegalArgumentException e) {
      throw new IllegalArgumentException(FILE + " on the class path cannot be read", e);
    }
    return properties;
  }
}

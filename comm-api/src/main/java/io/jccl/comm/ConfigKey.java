package io.jccl.comm;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.lang3.StringUtils;

/**
 * A configuration key with a type and a default.
 *
 * <p>The environment's name for {@code jccl.tcp.bind} is {@code JCCL_TCP_BIND}.
 *
 * @param <T> the type of the value
 */
public final class ConfigKey<T> {
  private static final Pattern SHORT_DURATION = Pattern.compile("(\\d+)\\s*(ms|s|m|h)");
  private static final Pattern BYTES = Pattern.compile("(\\d+)\\s*([kmg]?)(i?b)?");

  private final String name;
  private final T defaultValue;
  private final String expected;
  private final Function<String, T> parser;

  private ConfigKey(String name, T defaultValue, String expected, Function<String, T> parser) {
    this.name = name;
    this.defaultValue = defaultValue;
    this.expected = expected;
    this.parser = parser;
  }

  /**
   * {@return a key whose value is taken as it stands}
   *
   * @param name the name of the property, such as {@code jccl.timeout}
   * @param defaultValue the value where nothing is configured
   */
  public static ConfigKey<String> string(String name, String defaultValue) {
    return new ConfigKey<>(name, defaultValue, "text", Function.identity());
  }

  /**
   * {@return a key whose value is {@code true} or {@code false}}
   *
   * @param name the name of the property, such as {@code jccl.timeout}
   * @param defaultValue the value where nothing is configured
   */
  public static ConfigKey<Boolean> bool(String name, boolean defaultValue) {
    return new ConfigKey<>(
        name,
        defaultValue,
        "true or false",
        text ->
            switch (text.toLowerCase(Locale.ROOT)) {
              case "true", "1" -> true;
              case "false", "0" -> false;
              default -> throw new IllegalArgumentException();
            });
  }

  /**
   * {@return a key whose value is a whole number from {@code min} to {@code max}}
   *
   * @param name the name of the property, such as {@code jccl.timeout}
   * @param defaultValue the value where nothing is configured
   * @param min the least value that is allowed
   * @param max the greatest value that is allowed
   */
  public static ConfigKey<Integer> integer(String name, int defaultValue, int min, int max) {
    return new ConfigKey<>(
        name,
        defaultValue,
        "a whole number from " + min + " to " + max,
        text -> {
          int value = Integer.parseInt(text);
          if (value < min || value > max) {
            throw new IllegalArgumentException();
          }
          return value;
        });
  }

  /**
   * {@return a key whose value is a positive time: {@code 500ms}, {@code 30s}, {@code 5m}, {@code
   * PT1H}}
   *
   * @param name the name of the property, such as {@code jccl.timeout}
   * @param defaultValue the value where nothing is configured
   */
  public static ConfigKey<Duration> duration(String name, Duration defaultValue) {
    return new ConfigKey<>(
        name,
        defaultValue,
        "a positive time such as 500ms, 30s, 5m, 1h or PT30S",
        ConfigKey::parseDuration);
  }

  /**
   * {@return a key whose value is a number of bytes: {@code 65536}, {@code 64k}, {@code 64KiB},
   * {@code 1g}}
   *
   * @param name the name of the property, such as {@code jccl.timeout}
   * @param defaultValue the value where nothing is configured
   */
  public static ConfigKey<Long> bytes(String name, long defaultValue) {
    return new ConfigKey<>(
        name,
        defaultValue,
        "a number of bytes such as 65536, 64k or 1g (powers of 1024)",
        ConfigKey::parseBytes);
  }

  /** {@return the key's name, also that of the system property: {@code jccl.timeout}} */
  public String name() {
    return name;
  }

  /** {@return the name of the environment variable: {@code JCCL_TIMEOUT}} */
  public String environmentName() {
    return name.toUpperCase(Locale.ROOT).replace('.', '_');
  }

  /** {@return the value where nothing is configured} */
  public T defaultValue() {
    return defaultValue;
  }

  T parse(String text, String where) {
    try {
      return parser.apply(StringUtils.strip(text));
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          name + " is \"" + text + "\" (from " + where + "), expected " + expected, e);
    }
  }

  /** The value of a text that has been found, with where it was found for the message. */
  Optional<T> parse(Optional<String> text, String where) {
    return text.map(found -> parse(found, where));
  }

  @Override
  public String toString() {
    return name;
  }

  private static Duration parseDuration(String text) {
    Matcher matcher = SHORT_DURATION.matcher(text.toLowerCase(Locale.ROOT));
    Duration value;
    if (matcher.matches()) {
      long amount = Long.parseLong(matcher.group(1));
      value =
          switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(amount);
            case "s" -> Duration.ofSeconds(amount);
            case "m" -> Duration.ofMinutes(amount);
            default -> Duration.ofHours(amount);
          };
    } else {
      value = Duration.parse(text);
    }
    if (value.isNegative() || value.isZero()) {
      throw new IllegalArgumentException();
    }
    return value;
  }

  private static long parseBytes(String text) {
    Matcher matcher = BYTES.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException();
    }
    long amount = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "k" -> Math.multiplyExact(amount, 1L << 10);
      case "m" -> Math.multiplyExact(amount, 1L << 20);
      case "g" -> Math.multiplyExact(amount, 1L << 30);
      default -> amount;
    };
  }
}

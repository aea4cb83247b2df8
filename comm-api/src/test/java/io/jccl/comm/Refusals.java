package io.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.function.Executable;

/** Assertions that something is refused with a message that says what it must. */
public final class Refusals {
  private Refusals() {}

  /** The call throws exactly this type (or one below it) and its message holds all these words. */
  public static <T extends Throwable> T assertRefused(
      Class<T> type, Executable call, String... words) {
    T thrown = assertThrows(type, call);
    assertSays(thrown, words);
    return thrown;
  }

  /** The call throws {@link IllegalArgumentException} and its message holds all these words. */
  public static IllegalArgumentException assertRefused(Executable call, String... words) {
    return assertRefused(IllegalArgumentException.class, call, words);
  }

  /** The message of what was thrown holds all these words. */
  public static void assertSays(Throwable thrown, String... words) {
    String message = String.valueOf(thrown.getMessage());
    for (String word : words) {
      assertTrue(message.contains(word), () -> "\"" + message + "\" does not say \"" + word + "\"");
    }
  }
}

package io.jccl.comm.cli;

import java.io.Console;
import java.lang.reflect.InvocationTargetException;

/** Whether somebody watches. */
final class Terminal {
  private Terminal() {}

  /** Whether standard input and output are a terminal; of standard error alone Java cannot tell. */
  @SuppressWarnings("SystemConsoleNull") // both answers are understood below
  static boolean isErrorShown() {
    Console console = System.console();
    if (console == null) {
      return false;
    }
    try {
      // From Java 22 on there is always a console, which knows whether it is a terminal.
      return (boolean) Console.class.getMethod("isTerminal").invoke(console);
    } catch (NoSuchMethodException e) {
      return true;
    } catch (IllegalAccessException | InvocationTargetException e) {
      return false;
    }
  }
}

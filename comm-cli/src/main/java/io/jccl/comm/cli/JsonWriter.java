package io.jccl.comm.cli;

/**
 * Writes JSON, two spaces an indentation. Whoever calls keeps the order of names and values right.
 */
final class JsonWriter {
  private final StringBuilder text = new StringBuilder();
  private int depth;
  private boolean first = true;
  private boolean named;

  JsonWriter beginObject() {
    return begin('{');
  }

  JsonWriter endObject() {
    return end('}');
  }

  JsonWriter beginArray() {
    return begin('[');
  }

  JsonWriter endArray() {
    return end(']');
  }

  /** The name of the member whose value comes next. */
  JsonWriter name(String name) {
    separate();
    quote(name);
    text.append(": ");
    named = true;
    return this;
  }

  JsonWriter value(String value) {
    separate();
    quote(value);
    return this;
  }

  JsonWriter value(long value) {
    separate();
    text.append(value);
    return this;
  }

  JsonWriter value(boolean value) {
    separate();
    text.append(value);
    return this;
  }

  /** A number; null for those that JSON has no way to write. */
  JsonWriter value(double value) {
    separate();
    text.append(Double.isFinite(value) ? Double.toString(value) : "null");
    return this;
  }

  JsonWriter nullValue() {
    separate();
    text.append("null");
    return this;
  }

  private JsonWriter begin(char bracket) {
    separate();
    text.append(bracket);
    depth++;
    first = true;
    return this;
  }

  private JsonWriter end(char bracket) {
    depth--;
    if (!first) {
      newLine();
    }
    text.append(bracket);
    first = false;
    return this;
  }

  private void separate() {
    if (named) {
      named = false;
      return;
    }
    if (depth > 0) {
      if (!first) {
        text.append(',');
      }
      newLine();
    }
    first = false;
  }

  private void newLine() {
    text.append('\n').append("  ".repeat(depth));
  }

  private void quote(String value) {
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      switch (c) {
        case '"' -> text.append("\\\"");
        case '\\' -> text.append("\\\\");
        case '\n' -> text.append("\\n");
        case '\r' -> text.append("\\r");
        case '\t' -> text.append("\\t");
        default -> {
          if (c < ' ') {
            text.append(String.format("\\u%04x", (int) c));
          } else {
            text.append(c);
          }
        }
      }
    }
    text.append('"');
  }

  /** What has been written. */
  @Override
  public String toString() {
    return text.toString();
  }
}

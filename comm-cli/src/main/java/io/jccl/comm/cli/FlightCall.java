package io.jccl.comm.cli;

/**
 * One call in a flight recorder's file.
 *
 * @param collective its number among those that every rank makes; 0 for a message
 * @param what operation, dtype, reduction, root and elements, the same on every rank
 * @param state running, done, refused or failed
 */
record FlightCall(long collective, String what, String state) {

  static FlightCall parse(String line) {
    String[] words = line.split(" ", -1);
    if (words.length != 10) {
      throw new IllegalArgumentException("a line has " + words.length + " words, expected 10");
    }
    StringBuilder what = new StringBuilder(words[3]);
    what.append('(');
    String separator = "";
    for (String part :
        new String[] {
          words[7].equals("-") ? "-" : words[7] + " elements",
          words[4],
          words[5],
          words[6].equals("-") ? "-" : "root " + words[6]
        }) {
      if (!part.equals("-")) {
        what.append(separator).append(part);
        separator = ", ";
      }
    }
    long collective = words[1].equals("-") ? 0 : Long.parseLong(words[1]);
    return new FlightCall(collective, what.append(')').toString(), words[2]);
  }

  /** Refused calls are not made, and the next has their number. */
  boolean isCounted() {
    return collective > 0 && !state.equals("refused");
  }
}

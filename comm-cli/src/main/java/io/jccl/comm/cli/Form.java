package io.jccl.comm.cli;

/** Whether an operation's result goes to a buffer of its own or over its input. */
enum Form {
  OUT_OF_PLACE("out_of_place"),
  IN_PLACE("in_place");

  private final String label;

  Form(String label) {
    this.label = label;
  }

  /** nccl-tests' key in JSON. */
  String label() {
    return label;
  }
}

package io.jccl.it.model;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;

/** The sample models on one rank of whatever backend and world this process is started with. */
public final class ModelMain {
  private ModelMain() {}

  public static void main(String[] args) {
    try (CommBackend comm = CommBackends.open()) {
      for (ModelCase model : ModelCase.values()) {
        model.check(comm);
        System.out.println(model + " is right with " + comm.name());
      }
      // Nobody leaves while another still needs what this rank hosts.
      comm.barrier(comm.world().group());
    }
  }
}

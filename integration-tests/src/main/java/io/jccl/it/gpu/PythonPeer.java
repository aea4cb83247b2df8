package io.jccl.it.gpu;

import io.jccl.comm.CommConfig;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.comm.nccl.NcclCommunicator;
import io.jccl.comm.store.TcpStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * One NCCL communicator of this process and one of Python's, which calls NCCL by ctypes as PyNccl
 * does: the unique id goes through a store that is hosted here, once from here to there and once
 * back, and the sums must be right on both sides.
 */
public final class PythonPeer {
  private static final int COUNT = 100_003;
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private PythonPeer() {}

  /**
   * Runs both.
   *
   * @param args the folder of {@code pynccl_rank.py}
   */
  public static void main(String[] args) throws Exception {
    CommConfig config = CommConfig.load();
    for (boolean pythonMakesId : new boolean[] {false, true}) {
      run(Path.of(args[0], "pynccl_rank.py"), pythonMakesId, config);
      System.out.println(
          "ok, sums of "
              + COUNT
              + " floats are right in Java and in Python, by a unique id of "
              + (pythonMakesId ? "Python's" : "Java's"));
    }
  }

  private static void run(Path script, boolean pythonMakesId, CommConfig config)
      throws IOException, InterruptedException {
    CudaDevice device = CudaDevice.of(0, config);
    try (TcpStore store = TcpStore.host("127.0.0.1", 0, PATIENCE)) {
      byte[] id = new byte[0];
      if (!pythonMakesId) {
        id = NcclCommunicator.newUniqueId(config);
        store.set("id", id);
      }
      Process python = start(script, pythonMakesId, store.port());
      try {
        byte[] agreed = pythonMakesId ? store.get("id", PATIENCE) : id;
        sum(agreed, device, config);
        if (!python.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
          throw new AssertionError("Python has not ended");
        }
        if (python.exitValue() != 0) {
          throw new AssertionError("Python ended with exit code " + python.exitValue());
        }
      } finally {
        python.destroyForcibly();
      }
    }
  }

  private static Process start(Path script, boolean makesId, int port) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(System.getenv().getOrDefault("PYTHON", "python3"));
    command.add(script.toString());
    if (makesId) {
      command.add("make");
    }
    ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
    Map<String, String> environment = builder.environment();
    environment.put("MASTER_ADDR", "127.0.0.1");
    environment.put("MASTER_PORT", Integer.toString(port));
    return builder.start();
  }

  private static void sum(byte[] id, CudaDevice device, CommConfig config) {
    float[] own = new float[COUNT];
    float[] expected = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      own[i] = (i * 31) % 1021;
      expected[i] = own[i] + (i * 31 + 17) % 1021;
    }
    Tensor tensor = device.toDevice(Tensor.of(own));
    try (NcclCommunicator comm = NcclCommunicator.fromUniqueId(id, 2, 0, 0, config)) {
      comm.allReduce(tensor, ReduceOp.SUM).await();
      float[] actual = device.toHost(tensor).toFloatArray();
      for (int i = 0; i < COUNT; i++) {
        if (actual[i] != expected[i]) {
          throw new AssertionError(
              "element " + i + " is " + actual[i] + ", expected " + expected[i]);
        }
      }
    }
  }
}

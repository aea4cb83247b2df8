package io.jccl.it.conformance;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Group;
import io.jccl.comm.World;
import io.jccl.comm.nccl.CudaDevice;
import io.jccl.it.ranks.RankThreads;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * One rank of a run of the kit: opens the backend that the configuration names, in the world that a
 * launcher started, and exits with 1 if any rank found a failure. Rank 0 prints what was found.
 */
public final class ConformanceMain {
  private ConformanceMain() {}

  /**
   * The configuration says which backend.
   *
   * @param args nothing, or the number of ranks that are to be threads of this process
   */
  public static void main(String[] args) throws Exception {
    boolean failed;
    if (args.length == 0) {
      failed = run(World.find(CommConfig.load()));
    } else {
      failed = RankThreads.run(Integer.parseInt(args[0]), ConformanceMain::run).contains(true);
    }
    System.exit(failed ? 1 : 0);
  }

  private static boolean run(World found) {
    boolean failed;
    try (CommBackend comm = CommBackends.builder().world(found).open()) {
      ConformanceReport report = kit(comm).run();
      Group world = comm.world().group();
      List<String> lines = new ArrayList<>();
      String own = "rank " + comm.world().rank() + ": " + report;
      for (byte[] line : comm.gatherBytes(own.getBytes(StandardCharsets.UTF_8), 0, world)) {
        lines.add(new String(line, StandardCharsets.UTF_8));
      }
      lines.forEach(System.out::println);
      byte[] verdict = {(byte) (report.failedCases() > 0 || report.cases() == 0 ? 1 : 0)};
      failed = false;
      List<byte[]> verdicts = comm.gatherBytes(verdict, 0, world);
      for (byte[] one : verdicts) {
        failed |= one[0] != 0;
      }
      failed = comm.broadcastBytes(new byte[] {(byte) (failed ? 1 : 0)}, 0, world)[0] != 0;
    }
    return failed;
  }

  private static ConformanceKit kit(CommBackend comm) {
    if (comm.device().isCpu()) {
      return new ConformanceKit(comm, TensorAccess.host(), true);
    }
    CudaDevice device = CudaDevice.of(comm.device().index(), CommConfig.load());
    return new ConformanceKit(comm, new DeviceTensorAccess(device), false);
  }
}

package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Worlds by the variables of Slurm, Open MPI, PMI and Kubernetes, one rank of each. */
@Timeout(60)
class LauncherTest {
  @TempDir Path folder;

  /** The world of these variables; its store is a file, so that no other rank is needed. */
  private World find(String... pairs) {
    Map<String, String> variables = variables(pairs);
    variables.put("JCCL_STORE_FILE", folder.resolve("store").toString());
    variables.put("JCCL_TIMEOUT", "30s");
    return World.find(CommConfig.reading(name -> null, variables::get));
  }

  private static Map<String, String> variables(String... pairs) {
    Map<String, String> variables = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      variables.put(pairs[i], pairs[i + 1]);
    }
    return variables;
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static void assertPlaced(World world, int rank, int size, int localRank, int localSize) {
    try (world) {
      assertEquals(
          rank + " of " + size + ", " + localRank + " of " + localSize + " here",
          world.rank()
              + " of "
              + world.size()
              + ", "
              + world.localRank()
              + " of "
              + world.localSize()
              + " here");
    }
  }

  @Test
  void aSlurmTaskOfTheSecondOfThreeNodes() {
    World world =
        find(
            "SLURM_PROCID", "5",
            "SLURM_NTASKS", "11",
            "SLURM_LOCALID", "1",
            "SLURM_NODEID", "1",
            "SLURM_TASKS_PER_NODE", "4(x2),3",
            "SLURM_NODELIST", "gpu[07-09]",
            "SLURM_JOB_ID", "4711");
    assertEquals("Slurm's variables", world.source());
    assertTrue(world.detail().contains("SLURM_PROCID=5"), world.detail());
    assertTrue(world.detail().contains("SLURM_JOB_ID=4711"), world.detail());
    assertPlaced(world, 5, 11, 1, 4);
  }

  @Test
  void whatSlurmSaysOfTheStepWinsOverTheJob() {
    assertPlaced(
        find(
            "SLURM_PROCID", "1",
            "SLURM_NTASKS", "8",
            "SLURM_STEP_NUM_TASKS", "2",
            "SLURM_LOCALID", "0",
            "SLURM_NODEID", "1",
            "SLURM_TASKS_PER_NODE", "4(x2)",
            "SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
        1,
        2,
        0,
        1);
  }

  @Test
  void slurmsTasksPerNodeMayBeAsAskedFor() {
    assertPlaced(
        find(
            "SLURM_PROCID", "3",
            "SLURM_NTASKS", "4",
            "SLURM_LOCALID", "1",
            "SLURM_NTASKS_PER_NODE", "2",
            "SLURM_NODELIST", "a,b"),
        3,
        4,
        1,
        2);
  }

  @Test
  void slurmsRankZeroOfOneHostListensOnLoopback() throws Exception {
    Map<String, String> variables =
        variables(
            "SLURM_PROCID", "0",
            "SLURM_NTASKS", "2",
            "SLURM_LOCALID", "0",
            "SLURM_TASKS_PER_NODE", "2",
            "SLURM_NODELIST", "no-such-host",
            "MASTER_PORT", "" + freePort());
    try (World world =
        World.find(
            CommConfig.reading(name -> null, variables::get).with(CommConfig.TIMEOUT, "30s"))) {
      assertTrue(world.detail().contains("store at 127.0.0.1:"), world.detail());
    }
  }

  @Test
  void theFirstSlurmHostIsTheMasterAndThePortIsTheJobs() {
    Map<String, String> variables =
        variables(
            "SLURM_PROCID", "1",
            "SLURM_NTASKS", "2",
            "SLURM_LOCALID", "0",
            "SLURM_TASKS_PER_NODE", "1(x2)",
            "SLURM_NODEID", "1",
            "SLURM_NODELIST", "no-such-host-[003-004]",
            "SLURM_JOB_ID", "4711",
            "SLURM_STEP_ID", "2");
    CommTimeoutException first = unreachable(variables);
    assertTrue(first.getMessage().contains("no-such-host-003:2"), first.getMessage());
    assertEquals(port(first), port(unreachable(variables)), "the same for all of a job");
    variables.put("SLURM_STEP_ID", "3");
    assertTrue(!port(first).equals(port(unreachable(variables))), "another for another step");
  }

  private static CommTimeoutException unreachable(Map<String, String> variables) {
    return assertRefused(
        CommTimeoutException.class,
        () ->
            World.find(
                CommConfig.reading(name -> null, variables::get).with(CommConfig.TIMEOUT, "100ms")),
        "no store at no-such-host-003",
        "UnknownHostException");
  }

  private static String port(CommTimeoutException failure) {
    return failure.getMessage().replaceFirst(".*no-such-host-003:(\\d+) .*", "$1");
  }

  @Test
  void aBatchScriptIsNoTask() {
    assertPlaced(
        find("SLURM_PROCID", "0", "SLURM_NTASKS", "8", "ENVIRONMENT", "BATCH"), 0, 1, 0, 1);
    assertPlaced(find("SLURM_NTASKS", "8", "SLURM_JOB_ID", "1"), 0, 1, 0, 1);
  }

  @Test
  void openMpi() {
    World world =
        find(
            "OMPI_COMM_WORLD_RANK", "3",
            "OMPI_COMM_WORLD_SIZE", "4",
            "OMPI_COMM_WORLD_LOCAL_RANK", "1",
            "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    assertEquals("Open MPI's variables", world.source());
    assertPlaced(world, 3, 4, 1, 2);
  }

  @Test
  void openMpiOnSeveralHostsDoesNotTellTheMaster() {
    Map<String, String> variables =
        variables(
            "OMPI_COMM_WORLD_RANK", "3",
            "OMPI_COMM_WORLD_SIZE", "4",
            "OMPI_COMM_WORLD_LOCAL_RANK", "1",
            "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    assertRefused(
        () -> World.find(CommConfig.reading(name -> null, variables::get)),
        "OMPI_COMM_WORLD_RANK=3 and OMPI_COMM_WORLD_SIZE=4",
        "set MASTER_ADDR");
  }

  @Test
  void hydra() {
    World world =
        find("PMI_RANK", "1", "PMI_SIZE", "4", "MPI_LOCALRANKID", "1", "MPI_LOCALNRANKS", "4");
    assertEquals("PMI's variables", world.source());
    assertPlaced(world, 1, 4, 1, 4);
  }

  @Test
  void aPodOfAPyTorchJobIsOneRank() {
    Map<String, String> variables =
        variables(
            "RANK", "1",
            "WORLD_SIZE", "3",
            "MASTER_ADDR", "no-such-pod",
            "MASTER_PORT", "23456",
            "KUBERNETES_SERVICE_HOST", "10.0.0.1");
    assertRefused(
        CommTimeoutException.class,
        () ->
            World.find(
                CommConfig.reading(name -> null, variables::get).with(CommConfig.TIMEOUT, "100ms")),
        "no-such-pod:23456");
  }

  @Test
  void torchrunsVariablesWinOverTheLauncherThatStartedTorchrun() {
    assertPlaced(
        find("RANK", "0", "WORLD_SIZE", "1", "SLURM_PROCID", "2", "SLURM_NTASKS", "4"), 0, 1, 0, 1);
  }

  @Test
  void launchersThatAgreeDoNotDisturbEachOther() {
    World world = find("SLURM_PROCID", "1", "SLURM_NTASKS", "2", "PMI_RANK", "1", "PMI_SIZE", "2");
    assertEquals("Slurm's variables", world.source());
    assertPlaced(world, 1, 2, 1, 2);
  }

  @Test
  void launchersThatContradictEachOtherAreNamed() {
    String[] both = {
      "SLURM_PROCID", "0", "SLURM_NTASKS", "2",
      "OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4",
      "JCCL_LAUNCHER", ""
    };
    assertRefused(
        () -> find(both),
        "SLURM_PROCID=0 and SLURM_NTASKS=2",
        "OMPI_COMM_WORLD_RANK=3 and OMPI_COMM_WORLD_SIZE=4",
        "jccl.launcher",
        "slurm or openmpi");
    both[both.length - 1] = "openmpi";
    assertPlaced(find(both), 3, 4, 3, 4);
    both[both.length - 1] = "pmi";
    assertRefused(() -> find(both), "jccl.launcher is \"pmi\"", "slurm, openmpi");
  }

  @Test
  void variablesOfOneLauncherThatContradictEachOtherAreNamed() {
    assertRefused(
        () -> find("SLURM_PROCID", "4", "SLURM_NTASKS", "4"),
        "SLURM_PROCID is 4 and SLURM_NTASKS is 4");
    assertRefused(() -> find("SLURM_PROCID", "4"), "SLURM_PROCID is set but SLURM_NTASKS is not");
    assertRefused(
        () -> find("SLURM_PROCID", "0", "SLURM_NTASKS", "4", "SLURM_TASKS_PER_NODE", "2(x3)"),
        "SLURM_NTASKS is 4",
        "SLURM_TASKS_PER_NODE is \"2(x3)\"",
        "6 tasks");
    assertRefused(
        () ->
            find(
                "SLURM_PROCID", "0",
                "SLURM_NTASKS", "2",
                "SLURM_LOCALID", "1",
                "SLURM_TASKS_PER_NODE", "1(x2)"),
        "SLURM_LOCALID is 1 and SLURM_TASKS_PER_NODE is 1");
    assertRefused(
        () -> find("SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_NODELIST", "node[1-"),
        "SLURM_NODELIST is \"node[1-\"");
    assertRefused(
        () -> find("OMPI_COMM_WORLD_RANK", "0"),
        "OMPI_COMM_WORLD_RANK is set but OMPI_COMM_WORLD_SIZE is not");
    assertRefused(
        () -> find("PMI_RANK", "0", "PMIX_RANK", "1", "PMI_SIZE", "2"),
        "PMI_RANK is 0 but PMIX_RANK is 1");
    assertRefused(() -> find("PMI_SIZE", "2"), "PMI_SIZE is set but PMI_RANK is not");
  }

  @Test
  void anEmptyVariableIsNotSet() {
    assertPlaced(
        find("RANK", "", "WORLD_SIZE", " ", "SLURM_PROCID", "", "PMI_RANK", ""), 0, 1, 0, 1);
  }

  @Test
  void aJobThatComesToAnothersStoreIsTold() {
    find("SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_JOB_ID", "1").close();
    assertRefused(
        CommException.class,
        () -> find("SLURM_PROCID", "1", "SLURM_NTASKS", "2", "SLURM_JOB_ID", "2"),
        "belongs to another job",
        "rank 1 is of Slurm job 2.0",
        "Slurm job 1.0");
  }

  @Test
  void aRankWithAnotherWorldSizeIsToldWhoCame() {
    find("PMI_RANK", "0", "PMI_SIZE", "2").close();
    assertRefused(
        CommException.class,
        () -> find("PMI_RANK", "2", "PMI_SIZE", "3"),
        "rank 2 says that the world has 3 ranks",
        "who came first says 2",
        "Came: rank 0 (process ");
  }
}

package io.jccl.comm.internal;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A task that {@code srun} started. What srun says of the step wins over what it says of the job,
 * whose tasks need not be this step's.
 */
final class SlurmLauncher {
  static final String NAME = "slurm";
  private static final String SOURCE = "Slurm's variables";

  /** {@code 4(x2)} is two nodes of four tasks. */
  private static final Pattern TASKS = Pattern.compile("(\\d{1,9})(?:\\(x(\\d{1,9})\\))?");

  private final Variables variables;

  private SlurmLauncher(Variables variables) {
    this.variables = variables;
  }

  static Optional<Placement> find(Variables variables) {
    return new SlurmLauncher(variables).find();
  }

  private Optional<Placement> find() {
    // Without SLURM_PROCID this is a shell in an allocation. So is the batch script, which has one,
    // but is no step: what it starts without srun is one process and not the job's rank 0.
    boolean isBatchScript =
        variables.text("ENVIRONMENT").equals(Optional.of("BATCH"))
            && !variables.has("SLURM_STEP_ID")
            && !variables.has("SLURM_STEPID");
    if (!variables.has("SLURM_PROCID") || isBatchScript) {
      return Optional.empty();
    }
    String sizeName = variables.firstSet("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS");
    Optional<Integer> rank = variables.number("SLURM_PROCID", 0);
    Optional<Integer> size = variables.number(sizeName, 1);
    Variables.requireBoth("SLURM_PROCID", rank, size.isPresent() ? sizeName : "SLURM_NTASKS", size);
    Variables.requireInWorld("SLURM_PROCID", rank.get(), sizeName, size.get());
    String hostsName =
        variables.firstSet("SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NODELIST");
    List<String> hosts =
        variables
            .text(hostsName)
            .map(list -> HostList.expand(hostsName, list.strip()))
            .orElse(List.of());
    int localSize = localSize(sizeName, size.get(), hosts.size());
    int localRank =
        variables
            .number("SLURM_LOCALID", 0)
            .orElse(localSize == size.get() ? rank.get() : rank.get() % localSize);
    Variables.requireLocal("SLURM_LOCALID", localRank, localSizeName(), localSize, size.get());
    String jobName = variables.firstSet("SLURM_JOB_ID", "SLURM_JOBID");
    String stepName = variables.firstSet("SLURM_STEP_ID", "SLURM_STEPID");
    Optional<String> job =
        variables.text(jobName).map(id -> id + "." + variables.text(stepName).orElse("0"));
    String detail =
        variables.describe(
            "SLURM_PROCID",
            sizeName,
            "SLURM_LOCALID",
            localSizeName(),
            hostsName,
            jobName,
            stepName);
    return Optional.of(
        new Placement(
            NAME,
            SOURCE,
            detail,
            "SLURM_PROCID",
            rank.get(),
            sizeName,
            size.get(),
            localRank,
            localSize,
            hosts.stream().findFirst(),
            job.map(id -> Placement.portOf("slurm " + id)),
            job.map(id -> "Slurm job " + id)));
  }

  private String localSizeName() {
    return variables.firstSet(
        "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE");
  }

  /** How many tasks this task's node has. */
  private int localSize(String sizeName, int size, int hosts) {
    String name = localSizeName();
    if (!variables.has(name)) {
      int nodes = Math.max(1, hosts);
      int atLeast = variables.number("SLURM_LOCALID", 0).orElse(0) + 1;
      return Math.max(atLeast, (size + nodes - 1) / nodes);
    }
    if (name.equals("SLURM_NTASKS_PER_NODE")) {
      // What was asked for: a step may have fewer.
      return Math.min(size, variables.number(name, 1).orElseThrow());
    }
    List<Integer> tasks = tasksPerNode(name);
    int sum = tasks.stream().mapToInt(Integer::intValue).sum();
    if (sum != size) {
      throw new IllegalArgumentException(
          sizeName
              + " is "
              + size
              + " but "
              + name
              + " is \""
              + variables.text(name).orElseThrow()
              + "\", which are "
              + sum
              + " tasks; expected as many");
    }
    int node = variables.number("SLURM_NODEID", 0).orElse(0);
    if (node >= tasks.size()) {
      throw new IllegalArgumentException(
          "SLURM_NODEID is "
              + node
              + " but "
              + name
              + " is \""
              + variables.text(name).orElseThrow()
              + "\", which are "
              + tasks.size()
              + " nodes");
    }
    return tasks.get(node);
  }

  private List<Integer> tasksPerNode(String name) {
    String text = variables.text(name).orElseThrow();
    List<Integer> tasks = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      Matcher matcher = TASKS.matcher(part.strip());
      int times = matcher.matches() && matcher.group(2) != null ? parse(matcher, 2) : 1;
      if (!matcher.matches() || times < 1 || times > 1 << 20) {
        throw new IllegalArgumentException(
            "the environment's "
                + name
                + " is \""
                + text
                + "\", expected tasks of each node as Slurm writes them, such as 4(x2),3");
      }
      for (int i = 0; i < times; i++) {
        tasks.add(parse(matcher, 1));
      }
    }
    return tasks;
  }

  private static int parse(Matcher matcher, int group) {
    return Integer.parseInt(matcher.group(group));
  }
}

package io.jccl.comm.internal;

import java.util.Optional;

/**
 * A process that an MPI launcher started, whether or not it uses MPI: Open MPI's {@code mpirun}, or
 * one that speaks PMI, as Hydra (MPICH, Intel MPI, MVAPICH) and Cray's do.
 */
final class MpiLauncher {
  static final String OPEN_MPI = "openmpi";
  static final String PMI = "pmi";

  private MpiLauncher() {}

  static Optional<Placement> findOpenMpi(Variables variables) {
    // PMIX_NAMESPACE is the job's name with Open MPI 4 and later; before that ORTE's was its own.
    String jobName =
        variables.firstSet("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid");
    return find(
        variables,
        OPEN_MPI,
        "Open MPI's variables",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        jobName);
  }

  static Optional<Placement> findPmi(Variables variables) {
    Optional<Integer> pmi = variables.number("PMI_RANK", 0);
    Optional<Integer> pmix = variables.number("PMIX_RANK", 0);
    if (pmi.isPresent() && pmix.isPresent() && !pmi.equals(pmix)) {
      throw new IllegalArgumentException(
          "PMI_RANK is "
              + pmi.get()
              + " but PMIX_RANK is "
              + pmix.get()
              + ", expected the same; one is left over from another launcher: unset it");
    }
    // PMIx tells the size to its library alone, so that its rank by itself says too little.
    if (pmi.isEmpty() && !variables.has("PMI_SIZE")) {
      return Optional.empty();
    }
    return find(
        variables,
        PMI,
        "PMI's variables",
        variables.firstSet("PMI_RANK", "PMIX_RANK"),
        "PMI_SIZE",
        variables.firstSet(
            "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID", "MV2_COMM_WORLD_LOCAL_RANK"),
        variables.firstSet(
            "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"),
        variables.firstSet("PMIX_NAMESPACE", "PMI_JOBID", "PALS_APID"));
  }

  private static Optional<Placement> find(
      Variables variables,
      String launcher,
      String source,
      String rankName,
      String sizeName,
      String localRankName,
      String localSizeName,
      String jobName) {
    Optional<Integer> rank = variables.number(rankName, 0);
    Optional<Integer> size = variables.number(sizeName, 1);
    if (rank.isEmpty() && size.isEmpty()) {
      return Optional.empty();
    }
    Variables.requireBoth(rankName, rank, sizeName, size);
    Variables.requireInWorld(rankName, rank.get(), sizeName, size.get());
    int localSize = variables.number(localSizeName, 1).orElse(size.get());
    int localRank =
        variables
            .number(localRankName, 0)
            .orElse(localSize == size.get() ? rank.get() : rank.get() % localSize);
    Variables.requireLocal(localRankName, localRank, localSizeName, localSize, size.get());
    Optional<String> job = variables.text(jobName);
    return Optional.of(
        new Placement(
            launcher,
            source,
            variables.describe(rankName, sizeName, localRankName, localSizeName, jobName),
            rankName,
            rank.get(),
            sizeName,
            size.get(),
            localRank,
            localSize,
            Optional.empty(),
            job.map(id -> Placement.portOf(launcher + " " + id)),
            job.map(id -> jobName + " " + id)));
  }
}

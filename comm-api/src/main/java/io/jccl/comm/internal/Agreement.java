package io.jccl.comm.internal;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.World;
import io.jccl.comm.store.Store;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * How all ranks of a world choose one backend: each tells the store what it was asked for and what
 * it has, and each decides alike on all answers. Ranks that chose each for itself could choose
 * differently, and then hang.
 */
final class Agreement {
  static final String AUTO = "auto";

  private static final String SEPARATOR = "\t";

  private final World world;
  private final Store store;
  private final Duration timeout;

  Agreement(World world, Store store, Duration timeout) {
    this.world = world;
    this.store = store;
    this.timeout = timeout;
  }

  /**
   * What one rank was asked for and has.
   *
   * @param requested a provider's name, or {@code auto}
   * @param source where the request comes from
   * @param candidates every provider that it found
   */
  record Ballot(String requested, String source, List<Candidate> candidates) {

    private String encode() {
      StringBuilder lines = new StringBuilder();
      lines.append(oneLine(requested)).append(SEPARATOR).append(oneLine(source));
      for (Candidate candidate : candidates) {
        lines
            .append('\n')
            .append(oneLine(candidate.name()))
            .append(SEPARATOR)
            .append(candidate.priority())
            .append(SEPARATOR)
            .append(candidate.available())
            .append(SEPARATOR)
            .append(oneLine(candidate.detail()));
      }
      return lines.toString();
    }

    private static Ballot decode(String text) {
      String[] lines = text.split("\n", -1);
      String[] head = lines[0].split(SEPARATOR, -1);
      List<Candidate> candidates = new ArrayList<>();
      for (int i = 1; i < lines.length; i++) {
        String[] fields = lines[i].split(SEPARATOR, -1);
        candidates.add(
            new Candidate(
                fields[0],
                Integer.parseInt(fields[1]),
                Boolean.parseBoolean(fields[2]),
                fields[3]));
      }
      return new Ballot(head[0], head[1], candidates);
    }

    private static String oneLine(String text) {
      return text.replace('\n', ' ').replace('\t', ' ');
    }

    Optional<Candidate> find(String name) {
      return candidates.stream().filter(candidate -> candidate.name().equals(name)).findFirst();
    }
  }

  /**
   * One provider as one rank sees it.
   *
   * @param detail why it is not available, or with what it is
   */
  record Candidate(String name, int priority, boolean available, String detail) {}

  /** Casts this rank's ballot, waits for the others', and decides. */
  String agree(Ballot own) {
    if (world.size() == 1) {
      return decide(List.of(own));
    }
    List<Ballot> ballots = new ArrayList<>();
    for (String text : exchange("ballot", own.encode(), "choose a backend")) {
      ballots.add(Ballot.decode(text));
    }
    return decide(ballots);
  }

  /**
   * Tells the others whether this rank has made the backend that was chosen.
   *
   * @param failure why it has not; empty if it has
   * @throws BackendUnavailableException on every rank, if any has not
   */
  void confirm(String backend, Optional<RuntimeException> failure) {
    String own = failure.map(e -> "no" + SEPARATOR + e).orElse("yes");
    List<String> answers =
        world.size() == 1 ? List.of(own) : exchange("made", own, "make backend " + backend);
    List<String> failed = new ArrayList<>();
    for (int rank = 0; rank < answers.size(); rank++) {
      if (!answers.get(rank).equals("yes")) {
        failed.add("rank " + rank + ": " + answers.get(rank).substring(3));
      }
    }
    if (!failed.isEmpty()) {
      throw new BackendUnavailableException(
          "backend " + backend + " was chosen but could not be made: " + String.join("; ", failed),
          failure.orElse(null));
    }
  }

  private List<String> exchange(String topic, String own, String purpose) {
    store.set(topic + "/" + world.rank(), own.getBytes(StandardCharsets.UTF_8));
    List<String> keys = new ArrayList<>();
    for (int rank = 0; rank < world.size(); rank++) {
      keys.add(topic + "/" + rank);
    }
    try {
      return store.multiGet(keys, timeout).stream()
          .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
          .toList();
    } catch (CommTimeoutException e) {
      List<Integer> absent = new ArrayList<>();
      for (int rank = 0; rank < world.size(); rank++) {
        if (!store.check(List.of(keys.get(rank)))) {
          absent.add(rank);
        }
      }
      throw new CommTimeoutException(
          "ranks "
              + absent
              + " of "
              + world.size()
              + " did not come within "
              + timeout
              + " to "
              + purpose,
          e);
    }
  }

  /** Which backend these ballots, by rank, choose. */
  static String decide(List<Ballot> ballots) {
    String requested = ballots.get(0).requested();
    for (int rank = 1; rank < ballots.size(); rank++) {
      if (!ballots.get(rank).requested().equals(requested)) {
        throw new BackendUnavailableException(
            "ranks ask for different backends: rank 0 for "
                + requested
                + " ("
                + ballots.get(0).source()
                + "), rank "
                + rank
                + " for "
                + ballots.get(rank).requested()
                + " ("
                + ballots.get(rank).source()
                + "); set jccl.backend alike on all");
      }
    }
    return requested.equals(AUTO) ? best(ballots) : named(requested, ballots);
  }

  private static String named(String name, List<Ballot> ballots) {
    for (int rank = 0; rank < ballots.size(); rank++) {
      Optional<Candidate> found = ballots.get(rank).find(name);
      if (found.isEmpty() || !found.get().available()) {
        throw new BackendUnavailableException(
            "backend "
                + name
                + " was asked for ("
                + ballots.get(rank).source()
                + ") but "
                + (found.isEmpty() ? "there is no provider of that name" : "cannot serve")
                + onRank(rank, ballots)
                + ". "
                + describe(ballots.get(rank)));
      }
    }
    return name;
  }

  private static String best(List<Ballot> ballots) {
    List<Candidate> common = new ArrayList<>();
    for (Candidate candidate : ballots.get(0).candidates()) {
      boolean everywhere =
          ballots.stream()
              .allMatch(
                  ballot -> ballot.find(candidate.name()).filter(Candidate::available).isPresent());
      if (everywhere) {
        common.add(candidate);
      }
    }
    return common.stream()
        .max(Comparator.comparingInt(Candidate::priority).thenComparing(Candidate::name))
        .orElseThrow(() -> noneEverywhere(ballots))
        .name();
  }

  private static BackendUnavailableException noneEverywhere(List<Ballot> ballots) {
    StringBuilder message =
        new StringBuilder("no backend can serve")
            .append(ballots.size() > 1 ? " on every rank" : "")
            .append(". ");
    for (int rank = 0; rank < ballots.size(); rank++) {
      if (ballots.size() > 1) {
        message.append("Rank ").append(rank).append(": ");
      }
      message.append(describe(ballots.get(rank))).append(' ');
    }
    return new BackendUnavailableException(message.toString().strip());
  }

  private static String onRank(int rank, List<Ballot> ballots) {
    return ballots.size() == 1 ? "" : " on rank " + rank;
  }

  private static String describe(Ballot ballot) {
    if (ballot.candidates().isEmpty()) {
      return "No provider was found: add a backend's jar, such as comm-torchdist or comm-loopback,"
          + " to the class path or module path.";
    }
    StringBuilder found = new StringBuilder("Found: ");
    String separator = "";
    for (Candidate candidate : ballot.candidates()) {
      found
          .append(separator)
          .append(candidate.name())
          .append(candidate.available() ? " (available: " : " (unavailable: ")
          .append(candidate.detail())
          .append(')');
      separator = "; ";
    }
    return found.append('.').toString();
  }
}

package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.World;
import io.jccl.comm.internal.Agreement.Ballot;
import io.jccl.comm.internal.Agreement.Candidate;
import io.jccl.comm.store.MemoryStore;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class AgreementTest {
  private static final Candidate LOW = new Candidate("low", 1, true, "version 1");
  private static final Candidate HIGH = new Candidate("high", 9, true, "version 9");
  private static final Candidate NO_HIGH = new Candidate("high", 9, false, "no GPU here");

  private static Ballot auto(Candidate... candidates) {
    return new Ballot("auto", "the default", List.of(candidates));
  }

  private static Ballot named(String name, Candidate... candidates) {
    return new Ballot(name, "-Djccl.backend", List.of(candidates));
  }

  private static void assertUnavailable(List<Ballot> ballots, String... words) {
    assertRefused(BackendUnavailableException.class, () -> Agreement.decide(ballots), words);
  }

  @Test
  void autoTakesTheHighestPriority() {
    assertEquals("high", Agreement.decide(List.of(auto(LOW, HIGH))));
    assertEquals("high", Agreement.decide(List.of(auto(HIGH, LOW), auto(LOW, HIGH))));
  }

  @Test
  void autoLeavesOutWhatAnyRankLacks() {
    assertEquals("low", Agreement.decide(List.of(auto(LOW, HIGH), auto(LOW, NO_HIGH))));
    assertEquals("low", Agreement.decide(List.of(auto(LOW, NO_HIGH), auto(LOW, HIGH))));
    assertEquals("low", Agreement.decide(List.of(auto(LOW, HIGH), auto(LOW))));
    assertEquals("low", Agreement.decide(List.of(auto(LOW), auto(LOW, HIGH))));
  }

  @Test
  void autoBreaksTiesByNameAndNotByOrder() {
    Candidate a = new Candidate("a", 5, true, "");
    Candidate b = new Candidate("b", 5, true, "");
    assertEquals("b", Agreement.decide(List.of(auto(a, b), auto(b, a))));
    assertEquals("b", Agreement.decide(List.of(auto(b, a), auto(a, b))));
  }

  @Test
  void autoWithNothingInCommonSaysWhatEachRankHas() {
    assertUnavailable(
        List.of(auto(NO_HIGH, LOW), auto(HIGH)),
        "no backend can serve on every rank",
        "Rank 0: Found: high (unavailable: no GPU here); low (available: version 1).",
        "Rank 1: Found: high (available: version 9).");
  }

  @Test
  void noProviderAtAllSaysWhatToAdd() {
    assertUnavailable(
        List.of(auto()), "no backend can serve", "No provider was found", "jar", "class path");
  }

  @Test
  void aNameIsTakenWhateverItsPriority() {
    assertEquals(
        "low", Agreement.decide(List.of(named("low", HIGH, LOW), named("low", LOW, HIGH))));
  }

  @Test
  void anUnknownNameListsWhatWasFound() {
    assertUnavailable(
        List.of(named("ncl", HIGH, LOW)),
        "backend ncl was asked for (-Djccl.backend)",
        "there is no provider of that name.",
        "high (available: version 9); low (available: version 1)");
  }

  @Test
  void aNameThatOneRankLacksNamesTheRank() {
    assertUnavailable(
        List.of(named("high", HIGH), named("high", NO_HIGH, LOW)),
        "backend high",
        "cannot serve on rank 1",
        "unavailable: no GPU here");
    assertUnavailable(
        List.of(named("high", HIGH), named("high", LOW)),
        "there is no provider of that name on rank 1");
  }

  @Test
  void ranksThatAskForDifferentBackendsAreToldOfBoth() {
    assertUnavailable(
        List.of(auto(LOW), auto(LOW), named("low", LOW)),
        "rank 0 for auto (the default)",
        "rank 2 for low (-Djccl.backend)",
        "set jccl.backend alike");
  }

  @Test
  void ballotsCrossTheStoreWhateverTheirTextsHold() throws Exception {
    String text = "two\nlines\tand a tab: \u00e9";
    try (FakeRanks ranks = FakeRanks.of(2)) {
      List<String> chosen =
          ranks.all(
              rank ->
                  new Agreement(
                          ranks.worlds.get(rank),
                          ranks.worlds.get(rank).store().prefixed("test"),
                          Duration.ofSeconds(30))
                      .agree(
                          auto(
                              new Candidate("low", 1, true, text),
                              new Candidate("none", 2, false, ""))));
      assertEquals(List.of("low", "low"), chosen);
    }
  }

  @Test
  void ranksThatDoNotComeToAgreeAreNamed() {
    try (MemoryStore store = new MemoryStore(Duration.ofSeconds(30))) {
      World world = World.of(1, 3, store);
      Agreement agreement = new Agreement(world, store, Duration.ofMillis(50));
      assertRefused(
          CommTimeoutException.class,
          () -> agreement.agree(auto(LOW)),
          "ranks [0, 2] of 3 did not come",
          "PT0.05S",
          "choose a backend");
    }
  }
}

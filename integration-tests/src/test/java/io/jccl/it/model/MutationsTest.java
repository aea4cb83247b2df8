package io.jccl.it.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** That the tests of the sample models see an argument that is wrong. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class MutationsTest {

  @ParameterizedTest(name = "{0}")
  @EnumSource
  void aWrongArgumentMakesTheModelsCaseFail(Mutation mutation) throws Exception {
    AtomicInteger altered = new AtomicInteger();
    // Where a peer waits for what never comes, the deadline is what tells.
    List<Optional<Throwable>> thrown =
        ThreadRanks.run(
            "loopback", 2, "3s", comm -> mutation.model().check(mutation.decorate(comm, altered)));
    assertTrue(altered.get() > 0, "the model never gave the argument that was to be altered");
    // A wrong result, a refused argument, or what a backend found: never something unforeseen.
    assertTrue(
        thrown.stream()
            .flatMap(Optional::stream)
            .anyMatch(failure -> failure.getMessage().contains(mutation.says())),
        thrown::toString);
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource
  void theDecoratorItselfMakesNoCaseFail(ModelCase model) throws Exception {
    List<Optional<Throwable>> thrown =
        ThreadRanks.run("loopback", 2, "1m", comm -> model.check(Mutation.unaltered(comm)));
    assertEquals(List.of(Optional.empty(), Optional.empty()), thrown);
  }
}

package io.jccl.comm.loopback;

import io.jccl.comm.loopback.exchange.SharedRegion;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Where threads of this JVM find a region that one of them made, by a token that they pass on
 * through their store. What is not fetched by all has to be {@link #drop dropped}.
 */
final class Regions {
  private static final Map<String, Offer> OFFERS = new ConcurrentHashMap<>();

  private record Offer(SharedRegion region, AtomicInteger left) {}

  private Regions() {}

  /** Offers a region to be taken a number of times, at least once; returns its token. */
  static String offer(SharedRegion region, int times) {
    String token = UUID.randomUUID().toString();
    OFFERS.put(token, new Offer(region, new AtomicInteger(times)));
    return token;
  }

  /** A view of a region; the last to take it ends the offer. Empty if there is none. */
  static Optional<SharedRegion> take(String token) {
    Offer offer = OFFERS.get(token);
    if (offer == null) {
      return Optional.empty();
    }
    if (offer.left.decrementAndGet() == 0) {
      OFFERS.remove(token);
    }
    return Optional.of(offer.region.duplicate());
  }

  /** Ends an offer, if it has not ended. */
  static void drop(String token) {
    OFFERS.remove(token);
  }

  /** How many offers there are, for tests. */
  static int count() {
    return OFFERS.size();
  }
}

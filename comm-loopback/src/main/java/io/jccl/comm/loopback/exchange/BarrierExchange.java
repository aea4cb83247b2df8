package io.jccl.comm.loopback.exchange;

/** Everybody sees everybody's empty slot. */
final class BarrierExchange extends Exchange {

  BarrierExchange(Slots slots, SharedRegion region, RegionLayout layout, int rank) {
    super(slots, region, layout, rank);
  }

  @Override
  int rounds() {
    return 1;
  }

  @Override
  void write(int round, long step) {
    int unused = slots.awaitWritable(step);
    slots.publish(step);
  }

  @Override
  void read(int round, long step) {
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) {
        int unused = slots.await(peer, step);
      }
    }
  }
}

package io.jccl.comm.store;

/** The contract holds for a view whose keys have a prefix. */
class PrefixStoreTest extends StoreContract {
  private MemoryStore owner;

  @Override
  Store newUser() {
    if (owner == null) {
      owner = new MemoryStore(LONG);
    }
    MemoryStore view = owner.view();
    Store prefixed = view.prefixed("default_pg").prefixed("0");
    return new ClosingStore(prefixed, view);
  }
}

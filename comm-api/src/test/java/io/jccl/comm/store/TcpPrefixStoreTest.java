package io.jccl.comm.store;

/** The contract holds for a prefixed view of a TCP store. */
class TcpPrefixStoreTest extends StoreContract {
  private TcpStore host;

  @Override
  Store newUser() {
    if (host == null) {
      host = TcpStore.host("127.0.0.1", 0, LONG);
      return new ClosingStore(host.prefixed("default_pg"), host);
    }
    TcpStore client = TcpStore.connect("127.0.0.1", host.port(), LONG);
    return new ClosingStore(client.prefixed("default_pg"), client);
  }
}

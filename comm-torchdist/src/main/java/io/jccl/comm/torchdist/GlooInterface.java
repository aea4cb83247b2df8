package io.jccl.comm.torchdist;

import io.jccl.comm.CommException;
import io.jccl.comm.ConfigKey;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.torchdist.C10dRendezvous.C10dAddress;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Collections;
import java.util.Optional;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.gloo.Device;

/**
 * The network interface that a rank's Gloo listens on.
 *
 * <p>In order: {@code jccl.torchdist.interface}, {@code jccl.torchdist.hostname}, torch's {@code
 * GLOO_SOCKET_IFNAME}; the loopback interface where all members share a host; else the interface by
 * which the world's store is reached. That last one is safer than the address of this host's name,
 * c10d's default, which on many hosts is 127.0.1.1.
 *
 * @param isName whether {@code value} is an interface's name, else it is an address or host name
 */
record GlooInterface(boolean isName, String value) {
  /** The name of the interface, such as {@code eth0}. */
  static final ConfigKey<String> INTERFACE = ConfigKey.string("jccl.torchdist.interface", "");

  /** The name or address of this host on the interface. */
  static final ConfigKey<String> HOSTNAME = ConfigKey.string("jccl.torchdist.hostname", "");

  private static final String LOOPBACK = "127.0.0.1";

  static GlooInterface choose(
      EngineContext context, Optional<C10dAddress> store, Duration timeout) {
    String name = context.config().get(INTERFACE);
    if (!name.isEmpty()) {
      return new GlooInterface(true, name);
    }
    String hostname = context.config().get(HOSTNAME);
    if (!hostname.isEmpty()) {
      return new GlooInterface(false, hostname);
    }
    Optional<String> torch = context.config().environmentVariable("GLOO_SOCKET_IFNAME");
    if (torch.isPresent() && !torch.get().isBlank()) {
      // c10d takes several, one for each of several connections. There is one here.
      return new GlooInterface(true, torch.get().split(",", 2)[0].strip());
    }
    if (context.world().onOneHost(context.group(), timeout)) {
      return new GlooInterface(false, LOOPBACK);
    }
    try {
      return new GlooInterface(
          false, store.isPresent() ? addressTowards(store.get()) : addressOfThisHost());
    } catch (IOException e) {
      throw new CommException(
          "communicator "
              + context.name()
              + ": no address of this host was found by which others reach it; set "
              + INTERFACE
              + " or "
              + HOSTNAME,
          e);
    }
  }

  /** The local address of the route to the store. Sends nothing. */
  private static String addressTowards(C10dAddress store) throws IOException {
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.connect(new InetSocketAddress(InetAddress.getByName(store.host()), store.port()));
      InetAddress local = socket.getLocalAddress();
      return local.isAnyLocalAddress() || local.isLoopbackAddress()
          ? addressOfThisHost()
          : local.getHostAddress();
    }
  }

  private static String addressOfThisHost() throws IOException {
    try {
      InetAddress named = InetAddress.getLocalHost();
      if (!named.isLoopbackAddress()) {
        return named.getHostAddress();
      }
    } catch (UnknownHostException e) {
      // Then by interface.
    }
    for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
      if (each.isUp() && !each.isLoopback()) {
        for (InetAddress address : Collections.list(each.getInetAddresses())) {
          if (!address.isLinkLocalAddress()) {
            return address.getHostAddress();
          }
        }
      }
    }
    throw new SocketException("only loopback interfaces are up");
  }

  /** An address on this interface that others reach. */
  String localAddress() {
    if (!isName) {
      return value;
    }
    try {
      NetworkInterface named = NetworkInterface.getByName(value);
      if (named != null) {
        for (InetAddress address : Collections.list(named.getInetAddresses())) {
          if (!address.isLinkLocalAddress()) {
            return address.getHostAddress();
          }
        }
      }
    } catch (SocketException e) {
      throw new CommException("the interface " + value + " cannot be read", e);
    }
    throw new CommException(
        "there is no interface " + value + " with an address on this host; set " + INTERFACE);
  }

  /** Gloo's device for it, with a thread of its own. */
  Device open() {
    return isName
        ? ProcessGroupGloo.createDeviceForInterface(value)
        : ProcessGroupGloo.createDeviceForHostname(value);
  }

  @Override
  public String toString() {
    return (isName ? "interface " : "address ") + value;
  }
}

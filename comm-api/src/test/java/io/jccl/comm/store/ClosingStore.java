package io.jccl.comm.store;

import java.time.Duration;
import java.util.List;

/** A view together with the store below it, which it closes, as a view by itself does not. */
final class ClosingStore implements Store {
  private final Store view;
  private final Store below;

  ClosingStore(Store view, Store below) {
    this.view = view;
    this.below = below;
  }

  @Override
  public void set(String key, byte[] value) {
    view.set(key, value);
  }

  @Override
  public byte[] get(String key, Duration timeout) {
    return view.get(key, timeout);
  }

  @Override
  public long add(String key, long amount) {
    return view.add(key, amount);
  }

  @Override
  public byte[] compareSet(String key, byte[] expected, byte[] desired) {
    return view.compareSet(key, expected, desired);
  }

  @Override
  public boolean check(List<String> keys) {
    return view.check(keys);
  }

  @Override
  public void waitFor(List<String> keys, Duration timeout) {
    view.waitFor(keys, timeout);
  }

  @Override
  public boolean delete(String key) {
    return view.delete(key);
  }

  @Override
  public void append(String key, byte[] value) {
    view.append(key, value);
  }

  @Override
  public List<byte[]> multiGet(List<String> keys, Duration timeout) {
    return view.multiGet(keys, timeout);
  }

  @Override
  public void multiSet(List<String> keys, List<byte[]> values) {
    view.multiSet(keys, values);
  }

  @Override
  public long keyCount() {
    return view.keyCount();
  }

  @Override
  public Duration timeout() {
    return view.timeout();
  }

  @Override
  public void close() {
    view.close();
    below.close();
  }
}

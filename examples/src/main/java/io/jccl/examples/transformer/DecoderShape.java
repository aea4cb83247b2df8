package io.jccl.examples.transformer;

/**
 * The sizes of a decoder.
 *
 * @param vocabulary how many tokens there are
 * @param positions the longest sequence
 * @param hidden elements of a token's activation
 * @param heads heads of attention, of {@code hidden / heads} elements each
 * @param intermediate elements between the two linears of a dense layer
 * @param layers decoder layers
 */
public record DecoderShape(
    int vocabulary, int positions, int hidden, int heads, int intermediate, int layers) {
  public DecoderShape {
    if (heads < 1 || hidden % heads != 0) {
      throw new IllegalArgumentException(
          "heads is " + heads + ", expected a divisor of hidden, " + hidden);
    }
  }

  public int headSize() {
    return hidden / heads;
  }
}

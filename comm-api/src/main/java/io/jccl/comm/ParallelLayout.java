package io.jccl.comm;

/**
 * The tensor-, context-, data-, pipeline- and expert-parallel groups of a world.
 *
 * <p>Ranks are laid out as Megatron and tokenspeed do: tensor-parallel ranks are neighbours, then
 * context, then data, and pipeline stages are farthest apart: {@code rank = ((stage · dp + d) · cp
 * + c) · tp + t}. Expert parallelism lays out the same ranks of a pipeline stage another way, for
 * mixture-of-experts layers: {@code tp · cp · dp} ranks are {@code edp · ep · etp}, expert-tensor
 * ranks being neighbours.
 *
 * <p>Immutable; makes groups only, no communicators. Degrees that are not set are 1, and data
 * parallelism takes what is left of the world.
 */
public final class ParallelLayout {
  private final int worldSize;
  private final int tensor;
  private final int context;
  private final int data;
  private final int pipeline;
  private final int expert;
  private final int expertTensor;

  private ParallelLayout(Builder builder) {
    worldSize = builder.worldSize;
    tensor = builder.tensor;
    context = builder.context;
    pipeline = builder.pipeline;
    expert = builder.expert;
    expertTensor = builder.expertTensor;
    // Two factors at a time: the product of three ints can overflow a long.
    long modelBlock = (long) tensor * context;
    if (worldSize % modelBlock != 0 || worldSize / modelBlock % pipeline != 0) {
      throw new IllegalArgumentException(
          "worldSize is "
              + worldSize
              + ", expected a multiple of tensor · context · pipeline = "
              + tensor
              + " · "
              + context
              + " · "
              + pipeline);
    }
    data = (int) (worldSize / modelBlock / pipeline);
    long expertBlock = (long) expert * expertTensor;
    if (stageSize() % expertBlock != 0) {
      throw new IllegalArgumentException(
          "expert · expertTensor is "
              + expert
              + " · "
              + expertTensor
              + ", expected a divisor of the "
              + stageSize()
              + " ranks of a pipeline stage");
    }
  }

  /**
   * {@return the builder of a layout of a world of this size}
   *
   * @param worldSize how many ranks the world has
   */
  public static Builder of(int worldSize) {
    if (worldSize < 1) {
      throw new IllegalArgumentException("worldSize is " + worldSize + ", expected 1 or more");
    }
    return new Builder(worldSize);
  }

  /** {@return how many ranks the world has} */
  public int worldSize() {
    return worldSize;
  }

  /** {@return how many ranks share a layer} */
  public int tensorSize() {
    return tensor;
  }

  /** {@return how many ranks share a sequence} */
  public int contextSize() {
    return context;
  }

  /** {@return how many ranks hold the same weights} */
  public int dataSize() {
    return data;
  }

  /** {@return how many stages the pipeline has} */
  public int pipelineSize() {
    return pipeline;
  }

  /** {@return how many ranks a layer's experts are spread over} */
  public int expertSize() {
    return expert;
  }

  /** {@return how many ranks share an expert} */
  public int expertTensorSize() {
    return expertTensor;
  }

  /** {@return how many ranks hold the same experts} */
  public int expertDataSize() {
    return stageSize() / (expert * expertTensor);
  }

  private int stageSize() {
    return worldSize / pipeline;
  }

  /**
   * {@return the ranks that share a layer's weights with this one, each holding a slice}
   *
   * @param rank a global rank
   */
  public Group tensorGroup(int rank) {
    return along(rank, 1, tensor);
  }

  /**
   * {@return the ranks that share a sequence with this one, each holding a piece}
   *
   * @param rank a global rank
   */
  public Group contextGroup(int rank) {
    return along(rank, tensor, context);
  }

  /**
   * {@return the ranks that hold the same weights as this one, for other samples}
   *
   * @param rank a global rank
   */
  public Group dataGroup(int rank) {
    return along(rank, tensor * context, data);
  }

  /**
   * {@return the ranks over which gradients of dense layers are reduced: data and context together}
   *
   * @param rank a global rank
   */
  public Group dataContextGroup(int rank) {
    return along(rank, tensor, context * data);
  }

  /**
   * {@return the ranks of the other stages that this one hands activations to and takes them from}
   *
   * @param rank a global rank
   */
  public Group pipelineGroup(int rank) {
    return along(rank, stageSize(), pipeline);
  }

  /**
   * {@return the ranks over which a layer's experts are spread: tokens go all-to-all among them}
   *
   * @param rank a global rank
   */
  public Group expertGroup(int rank) {
    return along(rank, expertTensor, expert);
  }

  /**
   * {@return the ranks that share each expert's weights with this one}
   *
   * @param rank a global rank
   */
  public Group expertTensorGroup(int rank) {
    return along(rank, 1, expertTensor);
  }

  /**
   * {@return the ranks that hold the same experts as this one: their gradients are reduced here}
   *
   * @param rank a global rank
   */
  public Group expertDataGroup(int rank) {
    return along(rank, expert * expertTensor, expertDataSize());
  }

  /**
   * {@return the ranks of the same pipeline stage as this one}
   *
   * @param rank a global rank
   */
  public Group stageGroup(int rank) {
    return along(rank, 1, stageSize());
  }

  /** The ranks that differ from this one only in the coordinate of this stride and size. */
  private Group along(int rank, int stride, int size) {
    if (rank < 0 || rank >= worldSize) {
      throw new IllegalArgumentException("rank is " + rank + ", expected 0 to " + (worldSize - 1));
    }
    int coordinate = rank / stride % size;
    return Group.strided(rank - coordinate * stride, size, stride);
  }

  @Override
  public String toString() {
    return "ParallelLayout(world "
        + worldSize
        + ", tp "
        + tensor
        + ", cp "
        + context
        + ", dp "
        + data
        + ", pp "
        + pipeline
        + ", ep "
        + expert
        + ", etp "
        + expertTensor
        + ")";
  }

  /** Sets the degrees of a layout, each 1 unless set. */
  public static final class Builder {
    private final int worldSize;
    private int tensor = 1;
    private int context = 1;
    private int pipeline = 1;
    private int expert = 1;
    private int expertTensor = 1;

    private Builder(int worldSize) {
      this.worldSize = worldSize;
    }

    /**
     * Sets how many ranks share a layer.
     *
     * @param degree 1 or more
     * @return this builder
     */
    public Builder tensor(int degree) {
      tensor = requireDegree("tensor", degree);
      return this;
    }

    /**
     * Sets how many ranks share a sequence.
     *
     * @param degree 1 or more
     * @return this builder
     */
    public Builder context(int degree) {
      context = requireDegree("context", degree);
      return this;
    }

    /**
     * Sets how many stages the pipeline has.
     *
     * @param degree 1 or more
     * @return this builder
     */
    public Builder pipeline(int degree) {
      pipeline = requireDegree("pipeline", degree);
      return this;
    }

    /**
     * Sets over how many ranks a layer's experts are spread.
     *
     * @param degree 1 or more
     * @return this builder
     */
    public Builder expert(int degree) {
      expert = requireDegree("expert", degree);
      return this;
    }

    /**
     * Sets how many ranks share an expert.
     *
     * @param degree 1 or more
     * @return this builder
     */
    public Builder expertTensor(int degree) {
      expertTensor = requireDegree("expertTensor", degree);
      return this;
    }

    /**
     * {@return the layout}
     *
     * @throws IllegalArgumentException if the degrees do not divide the world
     */
    public ParallelLayout build() {
      return new ParallelLayout(this);
    }

    private static int requireDegree(String name, int degree) {
      if (degree < 1) {
        throw new IllegalArgumentException(name + " is " + degree + ", expected 1 or more");
      }
      return degree;
    }
  }
}

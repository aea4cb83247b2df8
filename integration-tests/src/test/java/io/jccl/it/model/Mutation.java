package io.jccl.it.model;

import io.jccl.comm.CommBackend;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One argument that model code could have got wrong: a group, a dimension, a count, a rank or a
 * reduction. A backend that is decorated with it alters that argument of every such call.
 */
enum Mutation {
  PARTIAL_SUMS_STAY_ALONE(ModelCase.TENSOR_PARALLEL_DECODER, "allReduce", 1, "element (0, 0) is") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return alone(comm);
    }
  },
  PARTIAL_SUMS_ARE_AVERAGED(
      ModelCase.TENSOR_PARALLEL_DECODER, "allReduce", 2, "element (0, 0) is") {
    @Override
    Object alter(CommBackend comm, Object op) {
      return ReduceOp.AVG;
    }
  },
  LOGITS_ARE_GATHERED_ALONG_ROWS(
      ModelCase.TENSOR_PARALLEL_DECODER, "allGather", 2, "14 rows, expected 7") {
    @Override
    Object alter(CommBackend comm, Object dim) {
      return 0;
    }
  },
  LOGITS_ARE_GATHERED_IN_ANOTHER_ORDER(
      ModelCase.TENSOR_PARALLEL_DECODER, "allGather", 1, "element (0, 0) is") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return Group.of(1, 0);
    }
  },
  A_STAGE_RECEIVES_A_TOKEN_TOO_FEW(
      ModelCase.PIPELINED_DECODER, "recv", 1, "recv(float32, 320 bytes)") {
    @Override
    Object alter(CommBackend comm, Object shape) {
      long[] altered = ((long[]) shape).clone();
      altered[0]--;
      return altered;
    }
  },
  A_STAGE_RECEIVES_FROM_ITSELF(
      ModelCase.PIPELINED_DECODER, "recv", 2, "source is 1, this rank itself") {
    @Override
    Object alter(CommBackend comm, Object source) {
      return (int) source + 1;
    }
  },
  A_STAGE_SENDS_TO_ITSELF(
      ModelCase.PIPELINED_DECODER, "send", 1, "destination is 0, this rank itself") {
    @Override
    Object alter(CommBackend comm, Object destination) {
      return (int) destination - 1;
    }
  },
  A_STAGE_SENDS_IN_A_GROUP_OF_ITS_OWN(
      ModelCase.PIPELINED_DECODER, "send", 2, "destination is 1, expected a rank in the group") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return alone(comm);
    }
  },
  COUNTS_GO_TO_THE_EXPERTS_OF_OTHERS(
      ModelCase.MIXTURE_OF_EXPERTS, "allToAll", 2, "recvCounts has") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return Group.of(1, 0);
    }
  },
  TOKENS_GO_TO_THE_EXPERTS_OF_OTHERS(
      ModelCase.MIXTURE_OF_EXPERTS, "tokenAllToAll", 1, "recvCounts has") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return Group.of(1, 0);
    }
  },
  TOKENS_ARE_SENT_BY_REVERSED_COUNTS(
      ModelCase.MIXTURE_OF_EXPERTS, "tokenAllToAll", 2, "recvCounts has") {
    @Override
    Object alter(CommBackend comm, Object counts) {
      return reversed(counts);
    }
  },
  TOKENS_ARE_EXPECTED_BY_REVERSED_COUNTS(
      ModelCase.MIXTURE_OF_EXPERTS, "tokenAllToAll", 3, "recvCounts has") {
    @Override
    Object alter(CommBackend comm, Object counts) {
      return reversed(counts);
    }
  },
  TOKENS_ARE_GATHERED_BY_REVERSED_COUNTS(
      ModelCase.DATA_PARALLEL_ATTENTION, "tokenAllGather", 2, "expected 0 rows, which counts has") {
    @Override
    Object alter(CommBackend comm, Object counts) {
      return reversed(counts);
    }
  },
  SUMS_ARE_SCATTERED_BY_REVERSED_COUNTS(
      ModelCase.DATA_PARALLEL_ATTENTION, "tokenReduceScatter", 2, "other is 0 · 16") {
    @Override
    Object alter(CommBackend comm, Object counts) {
      return reversed(counts);
    }
  },
  SUMS_ARE_SCATTERED_IN_ANOTHER_ORDER(
      ModelCase.DATA_PARALLEL_ATTENTION, "tokenReduceScatter", 1, "other is 0 · 16") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return Group.of(1, 0);
    }
  },
  TOKENS_ARE_COUNTED_ALONE(
      ModelCase.DATA_PARALLEL_ATTENTION, "allGather", 1, "counts is of length 1") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return alone(comm);
    }
  },
  GRADIENTS_STAY_ALONE(ModelCase.DATA_PARALLEL_TRAINING, "allReduce", 1, "element (0, 0) is") {
    @Override
    Object alter(CommBackend comm, Object group) {
      return alone(comm);
    }
  },
  GRADIENTS_ARE_SUMMED(ModelCase.DATA_PARALLEL_TRAINING, "allReduce", 2, "element (0, 0) is") {
    @Override
    Object alter(CommBackend comm, Object op) {
      return ReduceOp.SUM;
    }
  },
  TRAINING_STARTS_FROM_THE_WEIGHTS_OF_RANK_1(
      ModelCase.DATA_PARALLEL_TRAINING, "broadcast", 1, "element (0, 0) is") {
    @Override
    Object alter(CommBackend comm, Object root) {
      return 1;
    }
  };

  private final ModelCase model;
  private final String method;
  private final int argument;
  private final String says;

  /** Alters an argument of every call of a method, after which a rank's failure says this. */
  Mutation(ModelCase model, String method, int argument, String says) {
    this.model = model;
    this.method = method;
    this.argument = argument;
    this.says = says;
  }

  /** What stands in the argument's place. */
  abstract Object alter(CommBackend comm, Object right);

  ModelCase model() {
    return model;
  }

  String says() {
    return says;
  }

  /** The backend, with the argument altered and counted wherever it is given. */
  CommBackend decorate(CommBackend comm, AtomicInteger altered) {
    return decorated(
        comm,
        (called, arguments) -> {
          if (called.getName().equals(method)) {
            arguments[argument] = alter(comm, arguments[argument]);
            altered.incrementAndGet();
          }
        });
  }

  /** The backend behind a decorator that alters nothing. */
  static CommBackend unaltered(CommBackend comm) {
    return decorated(comm, (called, arguments) -> {});
  }

  private interface Alteration {
    void apply(Method called, Object[] arguments);
  }

  private static CommBackend decorated(CommBackend comm, Alteration alteration) {
    return (CommBackend)
        Proxy.newProxyInstance(
            Mutation.class.getClassLoader(),
            new Class<?>[] {CommBackend.class},
            (proxy, called, arguments) -> {
              if (arguments != null) {
                alteration.apply(called, arguments);
              }
              try {
                Object result = called.invoke(comm, arguments);
                return result instanceof CommBackend view ? decorated(view, alteration) : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static Group alone(CommBackend comm) {
    return Group.of(comm.world().rank());
  }

  private static long[] reversed(Object counts) {
    long[] right = (long[]) counts;
    long[] altered = new long[right.length];
    for (int i = 0; i < right.length; i++) {
      altered[i] = right[right.length - 1 - i];
    }
    return altered;
  }
}

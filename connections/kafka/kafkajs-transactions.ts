// Lets a transactional producer of kafkajs use version 2 of Kafka's transactions
// (transactions-two.ts) if the cluster has agreed on it (feature transaction.version), else version
// 1. A producer learns the version when it is initialised and keeps it: a cluster that changes its
// level serves both.
import { createRequire } from "node:module";
import { apiVersionsV3 } from "./api-versions.ts";
import { coordinatorTypes, replaceModule } from "./kafkajs-internals.ts";
import { sendTo } from "./send-to.ts";
import { createTransactionsTwo, type CoordinatorFinder, type TransactionalManager } from "./transactions-two.ts";

const feature = "transaction.version";
const implicitly = 2;

interface ManagerOptions {
  cluster: CoordinatorFinder & { refreshMetadataIfNecessary(): Promise<void> };
  transactional: boolean;
  transactionalId?: string;
}

type CreateManager = (options: ManagerOptions) => TransactionalManager;

/** Wraps what makes kafkajs' managers. */
export const withTransactionsTwo =
  (create: CreateManager): CreateManager =>
  (options) => {
    const { cluster, transactional, transactionalId } = options;
    const one = create(options);
    if (!transactional || transactionalId === undefined) return one;
    let two: ReturnType<typeof createTransactionsTwo> | undefined;
    const its = () => two ?? one;

    const speaksTwo = async (): Promise<boolean> => {
      await cluster.refreshMetadataIfNecessary();
      const { transaction: coordinatorType } = coordinatorTypes;
      const coordinator = await cluster.findGroupCoordinator({ groupId: transactionalId, coordinatorType });
      const { finalised } = await sendTo(coordinator, apiVersionsV3);
      return (finalised.get(feature) ?? 0) >= implicitly;
    };

    return {
      // Asked first: initialised, a producer is never asked again.
      async initProducerId() {
        const second = await speaksTwo();
        await one.initProducerId();
        if (!second) return;
        const producerId = String(one.getProducerId());
        two = createTransactionsTwo({ cluster, transactionalId, producerId, producerEpoch: one.getProducerEpoch() });
      },
      isInitialized: () => one.isInitialized(),
      isTransactional: () => true,
      isInTransaction: () => its().isInTransaction(),
      getTransactionalId: () => transactionalId,
      getProducerId: () => its().getProducerId(),
      getProducerEpoch: () => its().getProducerEpoch(),
      getSequence: (topic, partition) => its().getSequence(topic, partition),
      updateSequence: (topic, partition, increment) => its().updateSequence(topic, partition, increment),
      beginTransaction: () => its().beginTransaction(),
      addPartitionsToTransaction: (topicData, leaders) => its().addPartitionsToTransaction(topicData, leaders),
      produce: (broker, request) => two?.produce?.(broker, request) ?? broker.produce(request),
      sendOffsets: (offsets) => its().sendOffsets(offsets),
      commit: () => its().commit(),
      abort: () => its().abort(),
    };
  };

/** Before our own first use of kafkajs; others may have loaded it. */
export function patchTransactions(): void {
  const require = createRequire(import.meta.url);
  const path = "kafkajs/src/producer/eosManager/index.js";
  replaceModule(require, path, withTransactionsTwo(require(path) as CreateManager));
}

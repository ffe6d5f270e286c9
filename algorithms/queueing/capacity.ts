// What a rate of requests needs: stage processes, Kafka partitions and brokers, ClickHouse servers.
// From measured service times. A stage commits together what has come while its last transaction
// was under way, so what a record costs falls with the load; the formulas are those of a server
// whose batches form so (docs/design/delivery.md, What a larger cluster costs).

/** Service times of one single-threaded stage process, milliseconds. */
export interface StageTimes {
  /** CPU of a transaction, whatever is in it. */
  transactionMs: number;
  /** What a transaction waits for the broker; the thread is free meanwhile. */
  commitMs: number;
  /** CPU of a record. */
  recordMs: number;
}

/** Offsets, outputs, commit: those of the second version of transactions. */
export const requestsOfTransaction = 3;

export interface StageLoad {
  /** Records in a transaction, on average. */
  batch: number;
  /** Share of the process' thread that is busy, [0, 1]. */
  utilisation: number;
  /** CPU milliseconds a record, its share of the transaction included. */
  cpuMs: number;
  /** From arrival to commit, milliseconds, on average. Infinity: it can't keep up. */
  latencyMs: number;
}

/** Load of a process that receives records as a Poisson process of this rate. */
export function stageLoad({ transactionMs, commitMs, recordMs }: StageTimes, ratePerSecond: number): StageLoad {
  const rate = ratePerSecond / 1_000;
  const free = 1 - rate * recordMs;
  if (free <= 0) return { batch: Infinity, utilisation: 1, cpuMs: recordMs, latencyMs: Infinity };
  // Before each of its requests a transaction waits for the records that the thread has before it.
  const waitMs = (rate * recordMs * recordMs) / free;
  const cycleMs = transactionMs + commitMs + requestsOfTransaction * waitMs;
  const during = rate * cycleMs;
  // None came: the next transaction is for the first that does.
  const none = Math.exp(-during);
  const batch = during + none;
  const cpuMs = recordMs + transactionMs / batch;
  const utilisation = Math.min(1, rate * cpuMs);
  // Whether a record finds a transaction under way; half of it is left then, on average.
  const busy = during / (during + none);
  const latencyMs = recordMs / free + (busy * cycleMs) / 2 + cycleMs;
  return { batch, utilisation, cpuMs, latencyMs };
}

/** Service times of the servers: CPU milliseconds. */
export interface ServerTimes {
  /** Per transaction of a stage, and per request for the records written for it. */
  brokerTransactionMs: number;
  brokerRequestMs: number;
  clickhouseRequestMs: number;
}

export interface Planned {
  /** Share of a thread, or of a server's cores, that is planned with. */
  utilisation: number;
  coresPerServer: number;
  /** Copies of a record: each broker that has one writes it. */
  replication: number;
}

export interface Needs {
  /** By stage, in the order given. */
  processes: number[];
  partitions: number;
  brokers: number;
  clickhouse: number;
  /** Sum over the stages, milliseconds. */
  latencyMs: number;
  /** CPUs that are busy. */
  cores: { stages: number; brokers: number; clickhouse: number };
}

const leastPartitions = 8;

/** Capacity for this many requests per second; every one passes all stages. */
export function capacityFor(
  ratePerSecond: number,
  stages: readonly StageTimes[],
  servers: ServerTimes,
  { utilisation, coresPerServer, replication }: Planned,
): Needs {
  const sized = stages.map((stage) => {
    const processes = processesFor(ratePerSecond, stage, utilisation);
    return { processes, load: stageLoad(stage, ratePerSecond / processes) };
  });
  const sum = (of: (one: (typeof sized)[number]) => number): number => sized.reduce((total, one) => total + of(one), 0);
  const cpus = (ms: number): number => (ratePerSecond * ms) / 1_000;
  const cores = {
    stages: cpus(sum(({ load }) => load.cpuMs)),
    // What is copied is the records; a transaction's state is a small part of that.
    brokers: cpus(sum(({ load }) => servers.brokerTransactionMs / load.batch) + replication * servers.brokerRequestMs),
    clickhouse: cpus(servers.clickhouseRequestMs),
  };
  const serversOf = (busy: number): number => Math.ceil(busy / (utilisation * coresPerServer));
  const processes = sized.map((one) => one.processes);
  return {
    processes,
    // A partition belongs to one process of a stage; half as many again allow growth.
    partitions: Math.max(leastPartitions, Math.ceil(1.5 * Math.max(...processes))),
    brokers: Math.max(replication, serversOf(cores.brokers)),
    clickhouse: Math.max(1, serversOf(cores.clickhouse)),
    latencyMs: sum(({ load }) => load.latencyMs),
    cores,
  };
}

/**
 * The fewest processes at which records alone keep a thread below its utilisation. Transactions use
 * the remaining time: with less of it they become fewer and larger.
 */
function processesFor(ratePerSecond: number, { recordMs }: StageTimes, utilisation: number): number {
  return Math.max(1, Math.ceil((ratePerSecond * recordMs) / 1_000 / utilisation));
}

// kafkajs with its version asserted and our patches applied, once: this module is loaded once in a
// process. All imports of kafkajs go through it.
import { createRequire } from "node:module";
import type * as Kafkajs from "kafkajs";
import { patchAbortedFilter } from "./kafkajs-aborted.ts";
import { patchAdvertised } from "./kafkajs-advertised.ts";
import { patchConnection } from "./kafkajs-connection.ts";
import { patchCoordinators } from "./kafkajs-coordinators.ts";
import { patchErrors } from "./kafkajs-errors.ts";
import { patchFencing } from "./kafkajs-fencing.ts";
import { patchFetch } from "./kafkajs-fetch.ts";
import { assertKafkajsVersion } from "./kafkajs-internals.ts";
import { patchMembership } from "./kafkajs-membership.ts";
import { patchMetadata } from "./kafkajs-metadata.ts";
import { patchOutOfRange } from "./kafkajs-out-of-range.ts";
import { patchFetchWait } from "./kafkajs-fetch-wait.ts";
import { patchRejoin } from "./kafkajs-rejoin.ts";
import { patchRequestQueue } from "./kafkajs-request-queue.ts";
import { patchSend } from "./kafkajs-send.ts";
import { patchStopping } from "./kafkajs-stopping.ts";
import { patchTransactions } from "./kafkajs-transactions.ts";

assertKafkajsVersion();
patchAbortedFilter();
patchSend();
patchTransactions();
patchErrors();
patchFencing();
patchFetch();
patchCoordinators();
patchConnection();
patchMembership();
patchMetadata();
patchAdvertised();
patchOutOfRange();
patchStopping();
patchFetchWait();
patchRejoin();
patchRequestQueue();

const kafkajs = createRequire(import.meta.url)("kafkajs") as typeof Kafkajs;
export const { Kafka, logLevel, ConfigResourceTypes, Partitioners } = kafkajs;

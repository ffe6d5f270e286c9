// Every fault that the soak knows, by the group that --only takes. What each does is in
// test/faults/.
import type { Random } from "../../algorithms/numeric/random.ts";
import {
  brokenVectors,
  floodingTenant,
  largePrompts,
  oneIdAgainAndAgain,
  poisonRecords,
  wrongClocks,
  type Poisoned,
} from "../../test/faults/support/clients.ts";
import { endpointFault, endpointFaults, type Endpoint } from "../../test/faults/support/endpoint.ts";
import {
  compressedGarbage,
  gzipBomb,
  noHttp,
  oddHeaders,
  silentConnections,
} from "../../test/faults/support/hostile.ts";
import { cutConnections } from "../../test/faults/support/network.ts";
import type { Fault } from "../../test/faults/support/recovery.ts";
import { hangServer, keepAway, killServer, killSupervisor } from "../../test/faults/support/servers.ts";
import {
  freezeStage,
  joinAndLeave,
  killAllStages,
  killStage,
  rebalanceStorm,
} from "../../test/faults/support/stages.ts";

export interface CatalogueOptions {
  random: Random;
  endpoint: Endpoint;
  poisoned: Poisoned;
  /** Instances whose connections can be cut. */
  cuttable: readonly string[];
  /** Port of the gateway. */
  gatewayPort: number;
}

export const groups = ["broker", "servers", "stages", "network", "clients", "hostile", "endpoint"] as const;
export type Group = (typeof groups)[number];

export function catalogue(options: CatalogueOptions): Record<Group, Fault[]> {
  const { random, endpoint, poisoned, cuttable, gatewayPort } = options;
  const away = (name: "kafka" | "clickhouse" | "registry", seconds: number): Fault => keepAway(name, seconds * 1_000);
  const hangs = (name: "kafka" | "clickhouse" | "registry", seconds: number): Fault =>
    hangServer(name, seconds * 1_000);
  return {
    broker: [killServer("kafka")],
    servers: [
      ...[away("kafka", 12), hangs("kafka", 9)],
      ...[killServer("clickhouse"), away("clickhouse", 15), hangs("clickhouse", 10)],
      ...[killServer("registry"), away("registry", 5), hangs("registry", 5)],
      killSupervisor,
    ],
    stages: [killStage(random), killAllStages, freezeStage(random), joinAndLeave(random), rebalanceStorm],
    network: [cutConnections(random, cuttable)],
    clients: [
      ...[poisonRecords(poisoned), largePrompts, brokenVectors, wrongClocks, oneIdAgainAndAgain, floodingTenant],
    ],
    hostile: [
      ...[compressedGarbage(random), oddHeaders(random), gzipBomb],
      ...[noHttp(gatewayPort, random), silentConnections(gatewayPort)],
      ...[endpointFault(endpoint, "never ends"), endpointFault(endpoint, "inflates")],
    ],
    endpoint: endpointFaults.map((how) => endpointFault(endpoint, how)),
  };
}

// Whether the servers take connections, asked before anything is done with them: an absent one is
// named with its key within seconds, whatever the client library of its protocol would wait for.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../algorithms/queueing/backoff.ts";
import { messageOf } from "../connections/errors.ts";
import type { Config } from "../config/schema.ts";
import type { ResolvedConnections } from "./resolve.ts";

/** Five tries and the waits between them take at most ten seconds. */
const connectMs = 900;
const mostTries = 5;

interface Server {
  name: string;
  /** Key of the configuration; absent: embedded. */
  key: string | undefined;
  /** One of them has to answer. */
  addresses: readonly string[];
}

type Configured = Pick<Config, "kafka" | "registry" | "clickhouse">;
type Resolved = Pick<ResolvedConnections, "kafka" | "registry" | "clickhouse">;

/** Which servers there are, and by which keys. `only`: names of sections. */
export function serversOf(
  configured: Configured,
  { kafka, registry, clickhouse }: Resolved,
  only: readonly (keyof Configured)[] = ["kafka", "registry", "clickhouse"],
): Server[] {
  const keyOf = (value: unknown, key: string): string | undefined => (value === undefined ? undefined : key);
  const all = {
    kafka: { name: "Kafka", key: keyOf(configured.kafka.brokers, "kafka.brokers"), addresses: kafka.brokers },
    registry: { name: "the registry", key: keyOf(configured.registry.url, "registry.url"), addresses: [registry.url] },
    clickhouse: {
      name: "ClickHouse",
      ...{ key: keyOf(configured.clickhouse.url, "clickhouse.url"), addresses: [clickhouse.url] },
    },
  };
  return only.map((section) => all[section]);
}

/** Reports each failed try. Rejects after the last with every unreachable server. */
export async function untilReachable(
  servers: readonly Server[],
  say: (line: string) => void,
  tries = mostTries,
): Promise<void> {
  const waits = backoff({ first: 500, limit: 2_000 });
  for (let tried = 1; ; tried++) {
    const problems = (await Promise.all(servers.map(problemOf))).flatMap((problem) => problem ?? []);
    if (problems.length === 0) return;
    if (tried >= tries) throw new Error(problems.join("\n"));
    const pause = waits.next();
    say(`${problems.map((problem) => problem.split(": see ")[0]).join("; ")}: next try in ${pause / 1_000} s`);
    await sleep(pause);
  }
}

/** The problem and its remedy in one line; undefined: an address accepts connections. */
async function problemOf({ name, key, addresses }: Server): Promise<string | undefined> {
  const tried = await Promise.all(addresses.map((address) => whyNot(endpointOf(address))));
  if (tried.includes(undefined)) return undefined;
  const where = addresses.map((address, at) => `${withoutUser(address)} (${tried[at]})`).join(", ");
  const remedy =
    key === undefined
      ? 'see "precedent stack status", and the log that it names'
      : `see that it runs there, that this machine may connect, and that ${key} is right`;
  return `${name} can't be reached at ${where}: ${remedy}`;
}

/** A URL as messages show it. */
export const withoutUser = (address: string): string => address.replace(/\/\/[^/@]*@/, "//");

/** "host:port" or a URL. */
export function endpointOf(address: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(address.includes("://") ? address : `tcp://${address}`);
  const usual = protocol === "https:" ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? usual : Number(port) };
}

function whyNot({ host, port }: { host: string; port: number }): Promise<string | undefined> {
  return new Promise((settle) => {
    const socket = connect({ host, port, timeout: connectMs });
    const end = (why?: string): void => {
      socket.destroy();
      settle(why);
    };
    socket.once("connect", () => end());
    socket.once("timeout", () => end(`no answer in ${connectMs / 1_000} s`));
    socket.once("error", (error: NodeJS.ErrnoException) => end(words[error.code ?? ""] ?? messageOf(error)));
  });
}
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name can't be looked up",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
};

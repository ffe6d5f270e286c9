// The replicas of an openai arm: the configured endpoints, or the current addresses of a host.
import { hash } from "node:crypto";
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import type { Logger } from "pino";
import { Agent, type Dispatcher } from "undici";
import { messageOf } from "../../../connections/errors.ts";
import { anthropicUrl, mostReplicas, type EndpointArmConfig } from "../../../config/sections/arms.ts";
import { keyHeaders } from "../body.ts";
import { connectionOptions } from "../bounded-fetch.ts";
import { readEngineLoad, watchEngine, type EngineSource, type EngineWatch } from "./engine-poll.ts";

/** An endpoint that an arm calls. */
export interface Endpoint {
  /** Its address, up to /v1, without its query; unique. */
  name: string;
  baseUrl: string;
  apiKey: string;
  headers: Readonly<Record<string, string>>;
  /** URL or path of its load report. */
  metricsUrl?: string | undefined;
  /** Its address among those of the host. */
  address?: { address: string; family: number };
}

export type Lookup = (host: string) => Promise<readonly { address: string; family: number }[]>;

const lookupAll: Lookup = (host) => systemLookup(host, { all: true });
const everyMs = 5_000;
/** How long the state of an address that DNS no longer returns is kept. */
const absentMs = 300_000;

/** The configured endpoints. */
export function endpointsOf(arm: EndpointArmConfig): Endpoint[] {
  const { type, baseUrl, endpoints, apiKey, headers, metricsUrl } = arm;
  const only = baseUrl ?? (type === "anthropic" ? anthropicUrl : undefined);
  const several: NonNullable<typeof endpoints> = endpoints ?? (only === undefined ? [] : [{ baseUrl: only }]);
  return several.map((one) => ({
    ...{ name: nameOf(one.baseUrl), baseUrl: one.baseUrl },
    ...{ apiKey: one.apiKey ?? apiKey, headers },
    metricsUrl: one.metricsUrl ?? metricsUrl,
  }));
}

/** Each address of the host. With IPv4 and IPv6, only IPv4: both lead to the same machines. */
export async function addressesOf(config: EndpointArmConfig, lookup = lookupAll): Promise<Endpoint[]> {
  const [endpoint] = endpointsOf(config);
  if (endpoint === undefined) return [];
  const url = new URL(endpoint.baseUrl);
  const found = (await lookup(url.hostname.replace(/^\[|\]$/g, ""))).filter((one) => isIP(one.address) === one.family);
  const family = found.some((one) => one.family === 4) ? 4 : 6;
  const addresses = new Set(found.filter((one) => one.family === family).map(({ address }) => address));
  return [...addresses]
    .sort()
    .slice(0, mostReplicas)
    .map((address) => {
      const at = new URL(url);
      at.hostname = family === 6 ? `[${address}]` : address;
      return { ...endpoint, name: nameOf(at.href), address: { address, family } };
    });
}

/** As metrics and the page show it: a query may hold a key, so its digest stands for it. */
function nameOf(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (url.search === "") return baseUrl;
  url.search = hash("sha256", url.search).slice(0, 8);
  return url.href;
}

/** Connects to the endpoint's own address. Calls keep the host's name for TLS certificates. */
export function connectionsTo({ address }: Endpoint): Dispatcher | undefined {
  if (address === undefined) return undefined;
  const lookup: LookupFunction = (_host, options, done) =>
    options.all === true ? done(null, [address]) : done(null, address.address, address.family);
  return new Agent({ ...connectionOptions, connect: { ...connectionOptions.connect, lookup } });
}

/** Source of its load report. A server at another origin does not get the API key. */
export function engineSource(endpoint: Endpoint, dispatcher: Dispatcher | undefined): EngineSource | undefined {
  if (endpoint.metricsUrl === undefined) return undefined;
  const url = new URL(endpoint.metricsUrl, endpoint.baseUrl);
  const headers = url.origin === new URL(endpoint.baseUrl).origin ? keyHeaders(endpoint) : {};
  return { url: url.href, headers, dispatcher };
}

export type Members = ReturnType<typeof followMembers>;

export interface Member extends Endpoint {
  dispatcher: Dispatcher | undefined;
  /** Its load, if it reports one. */
  engine: EngineWatch["now"];
}

export interface MembersOptions {
  log: Logger;
  lookup?: Lookup | undefined;
  /** Monotonic, in milliseconds. */
  clock?: () => number;
}

/**
 * Follows the replicas until closed. Before the first lookup the host's name is the replica. An
 * address that returns is the same member again: answers of DNS may rotate.
 */
export function followMembers(
  config: EndpointArmConfig,
  { log, lookup, clock = () => performance.now() }: MembersOptions,
) {
  const watched = new Map<string, Member & { stop(): void; seenAt: number }>();
  let members: Member[] = [];
  let isClosed = false;

  const open = (endpoint: Endpoint): Member & { stop(): void; seenAt: number } => {
    const dispatcher = connectionsTo(endpoint);
    const source = engineSource(endpoint, dispatcher);
    const onChange = (problem: unknown): void => {
      const facts = { arm: config.name, replica: endpoint.name };
      if (!members.some(({ name }) => name === endpoint.name)) return;
      if (problem === undefined) log.info(facts, "the engine reports its load");
      else log.warn({ ...facts, problem: messageOf(problem) }, "the engine's load can't be read");
    };
    const engine = source && watchEngine(() => readEngineLoad(source), onChange);
    const stop = (): void => {
      engine?.stop();
      // Waits for calls in progress.
      void dispatcher?.close();
    };
    return { ...endpoint, dispatcher, engine: engine?.now ?? (() => undefined), stop, seenAt: clock() };
  };
  const replace = (next: readonly Endpoint[]): void => {
    members = next.map((endpoint) => {
      const member = watched.get(endpoint.name) ?? open(endpoint);
      // The most recently seen are last.
      watched.delete(endpoint.name);
      watched.set(endpoint.name, member);
      member.seenAt = clock();
      return member;
    });
    for (const [name, one] of watched) {
      if (watched.size <= members.length) break;
      if (clock() - one.seenAt < absentMs && watched.size <= 2 * mostReplicas) break;
      one.stop();
      watched.delete(name);
    }
  };

  const look = async (): Promise<void> => {
    try {
      const found = await addressesOf(config, lookup);
      const after = found.map(({ name }) => name).join(", ");
      // A host without addresses is a lookup failure: keeps the known replicas.
      if (isClosed || after === "") return;
      const isChanged = after !== members.map(({ name }) => name).join(", ");
      replace(found);
      if (isChanged) log.info({ arm: config.name, replicas: after }, "the arm's replicas have changed");
    } catch (error) {
      log.warn({ arm: config.name, problem: messageOf(error) }, "the host of the arm's replicas can't be looked up");
    } finally {
      if (!isClosed) timer = setTimeout(() => void look(), everyMs).unref();
    }
  };

  let timer: NodeJS.Timeout | undefined;
  replace(endpointsOf(config));
  if (config.discover === "dns") void look();
  return {
    now: (): readonly Member[] => members,
    close(): void {
      // undici rejects a second close.
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      for (const one of watched.values()) one.stop();
    },
  };
}

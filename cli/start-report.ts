// What `precedent up` tells the person who started it: one line a step, then where everything is.
import { isFree, listenerOf } from "../stack/ports.ts";
import { withoutUser } from "../stack/reachable.ts";
import type { ResolvedConnections } from "../stack/resolve.ts";
import { CommandError } from "./io.ts";
import type { Config } from "../config/schema.ts";

/** Prints a step with the seconds since the process started. */
export const createSteps =
  (out: (text: string) => void, now = (): number => performance.now()) =>
  (step: string): void =>
    out(`${(now() / 1_000).toFixed(1).padStart(6)} s  ${step}\n`);

export interface Started {
  /** Absolute; null: the defaults. */
  file: string | null;
  connections: ResolvedConnections;
  /** Undefined where no gateway runs here. */
  baseUrl: string | undefined;
  metricsUrl: string;
}

/** The addresses; KAFKA= and REGISTRY= are shell assignments for the clients in docs/clients. */
export function describeStart({ file, connections: { kafka, registry }, baseUrl, metricsUrl }: Started): string {
  const lines = [
    ...(baseUrl === undefined ? [] : [`page           ${baseUrl.replace(/v1$/, "")}`, `base URL       ${baseUrl}`]),
    `KAFKA=${kafka.brokers.join(",")}`,
    `REGISTRY=${withoutUser(registry.url)}`,
    `metrics        ${metricsUrl}`,
    `configuration  ${file ?? "the defaults (write precedent.yaml to change them)"}`,
    `next           in another terminal: npx precedent ask "list hidden files"`,
    "               Ctrl-C stops the stages",
  ];
  return `\nPrecedent runs.\n${lines.map((line) => `  ${line}\n`).join("")}\n`;
}

/** Throws, naming the program and the key, where a port to listen on is taken. */
export async function refuseTakenPorts({
  gateway,
  http,
}: Pick<Config, "http"> & Partial<Pick<Config, "gateway">>): Promise<void> {
  for (const [section, { host, port }] of Object.entries({ ...(gateway && { gateway }), http })) {
    if (port === 0 || (await isFree(port, host))) continue;
    throw new CommandError(
      `port ${port} is taken by ${listenerOf(port) ?? "another program"}: end that, or set ${section}.port in the ` +
        `configuration to another port (0 takes a free one). Nothing was started`,
    );
  }
}

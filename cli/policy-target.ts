// What users call a policy on the command line: an arm, a version, a file, or what was logged.
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { FEATURE_VERSION } from "../algorithms/routing/features.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { policyHistory } from "../state/policies/history.ts";
import { policyRecord } from "../state/policies/record.ts";
import { decodeRouterPolicy, priorPolicy, ROUTER, ROUTER_KIND } from "../state/policies/router.ts";
import type { Policy } from "../schemas/types.ts";
import type { Target } from "../operators/route/target.ts";
import { CommandError } from "./io.ts";

export interface Named {
  target: Target;
  /** Router's policy record, version 0 if from a file; null: the prior, or no router. */
  record: Policy | null;
}

export const targetHelp =
  "router (the newest), router@VERSION (0: the prior), a FILE.json (precedent policy show --json), an arm, or logged";

const mostBytes = 16 * 1_048_576;

/** @param arms configured names; others are written arm:NAME */
export async function namedTarget(
  text: string,
  { clickhouse, arms, cwd }: { clickhouse: Pick<ClickHouse, "query">; arms: readonly string[]; cwd: string },
): Promise<Named> {
  if (text.startsWith("arm:")) return armTarget(text.slice("arm:".length));
  if (arms.includes(text)) return armTarget(text);
  if (text === "logged") return { target: { kind: "logged", name: "logged" }, record: null };
  const [, version] = /^router(?:@(\d{1,15}))?$/.exec(text) ?? [null];
  if (text === ROUTER || version !== undefined)
    return published(clickhouse, version === undefined ? undefined : Number(version));
  if (text.endsWith(".json") || text.includes("/")) return fromFile(text, cwd);
  throw new CommandError(`${text} is no policy: give ${targetHelp}; arms are ${arms.join(", ")}, others arm:NAME`);
}

const armTarget = (arm: string): Named => ({ target: { kind: "arm", name: arm, arm }, record: null });

async function published(clickhouse: Pick<ClickHouse, "query">, version: number | undefined): Promise<Named> {
  const prior: Named = { target: { kind: "router", name: `${ROUTER}@0`, policy: priorPolicy }, record: null };
  if (version === 0) return prior;
  const [found] = await policyHistory(clickhouse, ROUTER, { limit: 1, ...(version === undefined ? {} : { version }) });
  if (found !== undefined) return decoded(found, `${ROUTER}@${found.version}`);
  if (version === undefined) return prior;
  throw new CommandError(`${ROUTER} has no version ${version}: precedent policy history ${ROUTER}`);
}

async function fromFile(text: string, cwd: string): Promise<Named> {
  const file = resolve(cwd, text);
  const size = await stat(file).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
  if (size === null) throw new CommandError(`${text}: there is no such file; a policy is ${targetHelp}`);
  if (size > mostBytes) throw new CommandError(`${text}: ${size} bytes are no router policy (${mostBytes} at most)`);
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandError(`${text}: no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return decoded(recordOf(json, text), text);
}

/** A whole record as `precedent policy show --json` prints it, or the body alone. */
function recordOf(json: unknown, text: string): Policy {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new CommandError(`${text}: a policy is an object with "kind" and "body", or with "dimension" and "arms"`);
  const given = json as Partial<Policy> & { arms?: unknown };
  const whole = typeof given.body === "string";
  return policyRecord({
    name: ROUTER,
    version: 0,
    kind: whole ? String(given.kind) : ROUTER_KIND,
    body: whole ? given.body! : JSON.stringify(json),
    featureVersion: whole ? Number(given.featureVersion) : FEATURE_VERSION,
    createdAt: 0,
  });
}

function decoded(record: Policy, name: string): Named {
  const policy = decodeRouterPolicy(record);
  if ("problem" in policy) throw new CommandError(`${name}: ${policy.problem}`);
  return { target: { kind: "router", name, policy }, record };
}

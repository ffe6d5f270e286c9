// precedent keys create|list|revoke|rotate: who may use the gateway, and as whom. The topic `keys`
// has the hashes of secrets; a key itself is printed once, when it is made. Gateways follow the
// topic.
import type { Command } from "commander";
import { nameProblem } from "../algorithms/names.ts";
import { armsOf } from "../config/load.ts";
import { newKey } from "../gateway/keys/key.ts";
import type { ApiKey } from "../schemas/types.ts";
import { describeKeys, isRevoked } from "./describe-keys.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { findKeys, readKeys, writeKeys } from "./keys-topic.ts";
import { configOf, parseCount, parseDuration, parseNames } from "./options.ts";
import { printWithSession } from "./with-session.ts";

interface Grants {
  tenant?: string;
  admin?: boolean;
  label: string;
  arm?: string[];
  domain?: string[];
  requestsPerMinute?: number;
  tokensPerMinute?: number;
}

/** Every gateway holds all of them. */
const mostKeys = 10_000;
const mostPerMinute = 2 ** 31 - 1;

export function addKeys(program: Command, io: Io): void {
  const keys = program.command("keys").description("who may use the gateway, and as which tenant");

  keys
    .command("create")
    .description("make a key and print it, this once; from the first one on every request needs a key")
    .option("-t, --tenant <name>", "whose requests they are (default: default)")
    .option("--admin", "for operators: looks into all tenants, and makes no requests")
    .option("--label <text>", "what it is for", "")
    .option("-a, --arm <names>", "arms that it may use, separated by commas; any by default", parseNames())
    .option("-d, --domain <names>", "domains that it may use, separated by commas; any by default", parseNames())
    .option("--requests-per-minute <count>", "over all gateways; no limit by default", parseCount)
    .option("--tokens-per-minute <count>", "of prompts and answers, over all gateways; no limit by default", parseCount)
    .action(async (grants: Grants, command: Command) => {
      const problem = problemOf(grants, armsOf(configOf(command, io).config));
      if (problem !== null) throw new UsageError(problem);
      await printWithSession(command, io, async (session) => {
        const known = await readKeys(session);
        if (known.length >= mostKeys) throw new CommandError(`there are ${known.length} keys, as many as there may be`);
        const { text, ...made } = newKey();
        const key = keyOf(grants, made, Date.now());
        await writeKeys(session, [key]);
        io.note(`${made.id} ${ownerOf(key)}: this is shown once\n`);
        return `${text}\n`;
      });
    });

  keys
    .command("list")
    .description("keys and what they may do; never their secrets")
    .option("-t, --tenant <name>", "of this tenant alone")
    .option("--json", "one a line, as JSON")
    .action(async ({ tenant, json }: { tenant?: string; json?: boolean }, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const found = (await readKeys(session)).filter((key) => tenant === undefined || key.tenant === tenant);
        if (json !== true) return describeKeys(found, Date.now());
        return found.map((key) => `${JSON.stringify({ ...key, hash: undefined })}\n`).join("");
      });
    });

  keys
    .command("revoke")
    .description("refuse keys from now on, for good")
    .argument("<id...>", "which; the part of a key before its dot")
    .action(async (ids: string[], _options: object, command: Command) => {
      await printWithSession(command, io, async (session) => {
        // All of them are found before one is revoked.
        const found = findKeys(await readKeys(session), ids);
        const now = Date.now();
        await writeKeys(
          session,
          found.map((key) => ({ ...key, revokedAt: key.revokedAt ?? now })),
        );
        return `revoked ${found.map(({ id }) => id).join(", ")}\n`;
      });
    });

  keys
    .command("rotate")
    .description("make a key that may do the same and print it; the old one is revoked")
    .argument("<id>", "which; the part of a key before its dot")
    .option("--overlap <time>", "the old key is refused only after so long, such as 90s or 10m", parseDuration)
    .action(async (id: string, { overlap }: { overlap?: number }, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const [old] = findKeys(await readKeys(session), [id]);
        const now = Date.now();
        if (old === undefined || isRevoked(old, now)) throw new CommandError(`${id} is revoked: make a new key`);
        const { text, ...made } = newKey();
        // The old one is refused only when the new one is there: both are in one partition.
        await writeKeys(session, rotated(old, made, { now, overlap }));
        io.note(`${made.id} ${ownerOf(old)} follows ${old.id}: this is shown once\n`);
        return `${text}\n`;
      });
    });
}

/** null: none. */
export function problemOf(grants: Grants, arms: readonly string[]): string | null {
  if (grants.admin === true && forTenants.some((name) => grants[name] !== undefined))
    return "--admin: such a key has no tenant, arms, domains or limits";
  if (grants.tenant?.trim() === "") return "--tenant: a tenant has a name";
  const unknown = grants.arm?.find((arm) => !arms.includes(arm));
  if (unknown !== undefined) return `--arm ${unknown}: there are ${arms.join(", ")}`;
  if (Math.max(grants.requestsPerMinute ?? 0, grants.tokensPerMinute ?? 0) > mostPerMinute)
    return `a limit is at most ${mostPerMinute} a minute`;
  return nameProblem({
    "--tenant": tenantOf(grants),
    "--label": grants.label,
    ...Object.fromEntries((grants.domain ?? []).map((domain, index) => [`--domain, name ${index + 1},`, domain])),
  });
}

const forTenants = ["tenant", "arm", "domain", "requestsPerMinute", "tokensPerMinute"] as const;
const tenantOf = ({ tenant = "default", admin = false }: Grants): string => (admin ? "" : tenant);
const ownerOf = ({ admin, tenant }: ApiKey): string => (admin ? "for operators" : `of the tenant ${tenant}`);

type Made = Pick<ApiKey, "id" | "hash">;

export const keyOf = ({ arm, domain, ...grants }: Grants, made: Made, now: number): ApiKey => ({
  ...made,
  tenant: tenantOf(grants),
  admin: grants.admin ?? false,
  label: grants.label,
  arms: arm ?? null,
  domains: domain ?? null,
  requestsPerMinute: grants.requestsPerMinute ?? null,
  tokensPerMinute: grants.tokensPerMinute ?? null,
  ...{ createdAt: now, expiresAt: null, revokedAt: null },
});

/** The new key, then the old one. */
export function rotated(old: ApiKey, made: Made, { now, overlap }: { now: number; overlap?: number | undefined }) {
  const next: ApiKey = { ...old, ...made, createdAt: now };
  const end =
    overlap === undefined ? { revokedAt: now } : { expiresAt: Math.min(now + overlap, old.expiresAt ?? Infinity) };
  // An old key that was to end soon says nothing of the new one.
  return [
    { ...next, expiresAt: null },
    { ...old, ...end },
  ] as const;
}

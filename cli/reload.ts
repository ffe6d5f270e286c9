// What SIGHUP does: arms and tenants change while the stages run. A changed key of anything else is
// named, for it takes effect at a restart.
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { armsOf } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { tenantsOf } from "../config/tenants.ts";
import { messageOf } from "../connections/errors.ts";
import type { RunningStages } from "../pipelines/up.ts";

interface Reloading {
  running: Pick<RunningStages, "replaceArms" | "replaceTenants">;
  /** With which the stages were started. */
  config: Config;
  /** Reads the file again; throws where it is invalid. */
  reread: () => Config;
  log: Pick<Logger, "info" | "warn" | "error">;
}

/** Whether all of the file is in force now. An invalid file changes nothing. */
export async function reload({ running, config, reread, log }: Reloading): Promise<boolean> {
  let next: Config;
  try {
    next = reread();
  } catch (error) {
    log.error(`arms and tenants stay as they are: ${messageOf(error)}`);
    return false;
  }
  const attempt = async (what: string, names: string[], replace: () => unknown): Promise<boolean> => {
    try {
      await replace();
      log.info({ [what]: names }, `${what} reloaded`);
      return true;
    } catch (error) {
      log.error({ err: error }, `the ${what} stay as they are`);
      return false;
    }
  };
  const arms = await attempt("arms", armsOf(next), () => running.replaceArms(next.arms));
  const tenants = await attempt("tenants", tenantsOf(next), () => running.replaceTenants(next.tenants));
  const keys = keysForRestart(config, next);
  if (keys.length > 0) log.warn({ keys }, "keys have changed that take effect at a restart only");
  return arms && tenants && keys.length === 0;
}

/** Names of the changed keys that SIGHUP does not reload; values may be secrets. */
function keysForRestart(before: Config, after: Config): string[] {
  const [{ arms: _a, tenants: _t, ...old }, { arms: _arms, tenants: _tenants, ...now }] = [before, after];
  return changedKeys(old, now).flatMap((section) => {
    const [was, is] = [old, now].map((config) => config[section as keyof typeof now]);
    return isGroup(was) && isGroup(is) ? changedKeys(was, is).map((key) => `${section}.${key}`) : [section];
  });
}

const changedKeys = (before: object, after: object): string[] =>
  Object.keys({ ...before, ...after }).filter(
    (key) => !isDeepStrictEqual(before[key as keyof object], after[key as keyof object]),
  );

const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

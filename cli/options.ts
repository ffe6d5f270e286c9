// Options that several commands share.
import { InvalidArgumentError, type Command } from "commander";
import { sharingDomain } from "../algorithms/identity/identity.ts";
import { loadConfig, type LoadedConfig, type LoadOptions } from "../config/load.ts";
import type { ArmConfig, Config } from "../config/schema.ts";
import { UsageError, type Io } from "./io.ts";

/** The configuration that --config names, wherever on the command line it stood. */
export function configOf(
  command: Command,
  io: Io,
  options: Pick<LoadOptions, "more" | "callsArms"> = {},
): LoadedConfig {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  return loadConfig({ file: config, cwd: io.cwd, environment: io.environment, ...options });
}

export function armNamed({ arms }: Pick<Config, "arms">, option: string, name: string): ArmConfig {
  const found = arms.find((arm) => arm.name === name);
  if (found === undefined)
    throw new UsageError(`${option} ${name}: there are ${arms.map((arm) => arm.name).join(", ")}`);
  return found;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const longestMs = 100 * 365 * 86_400_000;

/** "90", "90s", "2m", "12h", "30d", "500ms" in milliseconds; a number alone means seconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  const value = Number(match?.[1]);
  const ms = Math.round(value * unitMs[match?.[2] ?? "s"]!);
  if (match === null || !(value > 0) || ms > longestMs)
    throw new InvalidArgumentError("A time such as 500ms, 90s, 2m, 12h or 30d, a hundred years at most.");
  return ms;
}

/**
 * Names separated by commas; given twice, it adds up. One value: a variadic option would swallow
 * the argument behind it. @param known all names; absent: not checked
 */
export function parseNames<Name extends string>(known?: readonly Name[]) {
  return (text: string, previous: readonly Name[] = []): Name[] => {
    const names = text.split(",").map((name) => name.trim());
    if (names.includes("")) throw new InvalidArgumentError("Names, separated by commas.");
    const unknown = names.find((name) => known?.includes(name as Name) === false);
    if (unknown !== undefined)
      throw new InvalidArgumentError(`There is no ${unknown}; allowed: ${known?.join(", ") ?? ""}.`);
    return [...new Set([...previous, ...(names as Name[])])];
  };
}

/** Parses a number that fits; `what` is the message where it does not. */
export const numberThat =
  (what: string, fits: (value: number) => boolean) =>
  (text: string): number => {
    const value = text.trim() === "" ? NaN : Number(text);
    if (!fits(value)) throw new InvalidArgumentError(what);
    return value;
  };

export const parseCount = numberThat("A whole number above 0.", (value) => Number.isSafeInteger(value) && value > 0);
export const parseAboveZero = numberThat("A number above 0.", (value) => value > 0 && value < Infinity);
export const parseFromZero = numberThat("A number of at least 0.", (value) => value >= 0 && value < Infinity);

/** A sum of so much loses nothing that matters. */
const mostAmount = 1e12;

export const parseAmount = numberThat("An amount above 0, such as 2.50.", (value) => value > 0 && value <= mostAmount);

export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | "none" =>
    text === "none" ? "none" : parse(text);

/** A domain as tables write it; one without a tenant is of `tenant`. */
export const domainNamed = (name: string | undefined, tenant = "default"): string | undefined =>
  name === undefined || name.includes("/") ? name : sharingDomain(tenant, name);

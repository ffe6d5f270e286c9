// A version of a policy, and its history, for people: the router by arm, the threshold by tau, what
// else there is by its figures.
import { decodeThresholdPolicy, THRESHOLD } from "../state/policies/threshold.ts";
import { decodeRouterPolicy, ROUTER, type RouterPolicy } from "../state/policies/router.ts";
import type { Policy } from "../schemas/types.ts";
import { tableOf } from "./reading.ts";

const time = (milliseconds: number | null): string =>
  milliseconds === null ? "-" : new Date(milliseconds).toISOString().replace("T", " ").slice(0, 19);
const short = (value: number | undefined): string => (value === undefined ? "-" : String(Number(value.toPrecision(4))));

/** texts: columns on the left. */
const table = (head: readonly string[], texts: number, rows: readonly (string | number)[][]): string =>
  tableOf(head, rows, (column) => column >= texts);

export function describePolicy(policy: Policy): string {
  const lines = [
    `${policy.name} ${policy.version} (${policy.kind}, features ${policy.featureVersion})`,
    `published     ${time(policy.createdAt)}`,
    policy.name === ROUTER
      ? `trained with  ${short(policy.metrics.rewards)} rewarded requests, through ${time(policy.trainedThrough)}`
      : `trained       through ${time(policy.trainedThrough)}`,
  ];
  if (policy.revertOf !== null)
    lines.push(`repeats       ${policy.revertOf}; learning is paused: precedent policy resume ${policy.name}`);
  const details = { [ROUTER]: describeRouter, [THRESHOLD]: describeThreshold }[policy.name] ?? describeFigures;
  return `${[...lines, details(policy)].join("\n").trimEnd()}\n`;
}

function describeRouter(policy: Policy): string {
  const decoded = decodeRouterPolicy(policy);
  if ("problem" in decoded) return decoded.problem;
  if (decoded.tenants !== undefined) return describeTenants(decoded.tenants);
  const rows = [...decoded.arms].map(([arm, { model, count }]) => {
    const { [`rewards.${arm}`]: rewards, [`mean_reward.${arm}`]: mean } = policy.metrics;
    return [arm, model, short(rewards), short(count), short(mean)];
  });
  return table(["arm", "model", "rewards", "weight", "mean reward"], 2, rows);
}

function describeTenants(tenants: NonNullable<RouterPolicy["tenants"]>): string {
  const rows = [...tenants].flatMap(([tenant, own]) =>
    [...own.arms].map(([arm, { model, count }]) => [tenant, arm, model, short(count)]),
  );
  const arms = table(["tenant", "arm", "model", "weight"], 3, rows);
  return `tenants       ${tenants.size}, each by its own rewards; others by the prior\n${arms}`;
}

function describeThreshold(policy: Policy): string {
  const decoded = decodeThresholdPolicy(policy);
  if ("problem" in decoded) return decoded.problem;
  const rows = decoded.grid.map(({ tau, requests, gain, error }) => [
    ...[tau, requests, short(gain), short(error), tau === decoded.threshold ? "in force" : ""],
  ]);
  const grid = table(["threshold", "requests", "net gain", "error", ""], 0, rows);
  return `threshold     ${decoded.threshold}\n${grid}`;
}

function describeFigures({ metrics, body, hash }: Policy): string {
  const names = Object.keys(metrics).sort();
  const size = `size          ${body.length} bytes${hash === null ? "" : `, sha256 ${hash.slice(0, 12)}`}`;
  if (names.length === 0) return size;
  return `${size}\n${table(
    ["figure", "value"],
    1,
    names.map((name) => [name, short(metrics[name])]),
  )}`;
}

const telling: Readonly<Record<string, readonly [name: string, title: string][]>> = {
  [ROUTER]: [
    ["rewards", "rewards"],
    ["mean_reward", "mean reward"],
  ],
  [THRESHOLD]: [
    ["threshold", "threshold"],
    ["requests", "requests"],
    ["gain", "net gain"],
  ],
  helpfulness: [
    ["rows", "rows"],
    ["auc", "AUC"],
    ["auc_similarity", "of similarity"],
  ],
};

export function describeHistory(versions: readonly Policy[]): string {
  const figures = telling[versions[0]?.name ?? ""] ?? [];
  const rows = versions.map(({ version, createdAt, metrics, revertOf }) => [
    ...[version, time(createdAt), ...figures.map(([name]) => short(metrics[name])), revertOf ?? ""],
  ]);
  return table(["version", "published", ...figures.map(([, title]) => title), "repeats"], 0, rows);
}

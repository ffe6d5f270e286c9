// A version of a policy, and its history, for people: the router by arm, the threshold by tau, what
// else there is by its figures.
import Table from "cli-table3";
import { decodeThresholdPolicy, THRESHOLD } from "../state/policies/threshold.ts";
import { decodeRouterPolicy, ROUTER, type RouterPolicy } from "../state/policies/router.ts";
import type { Policy } from "../schemas/types.ts";

const time = (milliseconds: number | null): string =>
  milliseconds === null ? "-" : new Date(milliseconds).toISOString().replace("T", " ").slice(0, 19);
const short = (value: number | undefined): string => (value === undefined ? "-" : String(Number(value.toPrecision(4))));

const table = (head: readonly string[], texts: number): InstanceType<typeof Table> =>
  new Table({
    head: [...head],
    colAligns: head.map((_, i) => (i < texts ? "left" : "right")),
    style: { head: [], border: [], compact: true },
  });

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
  return `${[...lines, details(policy)].join("\n")}\n`;
}

function describeRouter(policy: Policy): string {
  const decoded = decodeRouterPolicy(policy);
  if ("problem" in decoded) return decoded.problem;
  if (decoded.tenants !== undefined) return describeTenants(decoded.tenants);
  const arms = table(["arm", "model", "rewards", "weight", "mean reward"], 2);
  for (const [arm, { model, count }] of decoded.arms) {
    const { [`rewards.${arm}`]: rewards, [`mean_reward.${arm}`]: mean } = policy.metrics;
    arms.push([arm, model, short(rewards), short(count), short(mean)]);
  }
  return arms.toString();
}

function describeTenants(tenants: NonNullable<RouterPolicy["tenants"]>): string {
  const arms = table(["tenant", "arm", "model", "weight"], 3);
  for (const [tenant, own] of tenants)
    for (const [arm, { model, count }] of own.arms) arms.push([tenant, arm, model, short(count)]);
  return `tenants       ${tenants.size}, each by its own rewards; others by the prior\n${arms.toString()}`;
}

function describeThreshold(policy: Policy): string {
  const decoded = decodeThresholdPolicy(policy);
  if ("problem" in decoded) return decoded.problem;
  const grid = table(["threshold", "requests", "net gain", "error", ""], 0);
  for (const { tau, requests, gain, error } of decoded.grid)
    grid.push([tau, requests, short(gain), short(error), tau === decoded.threshold ? "in force" : ""]);
  return `threshold     ${decoded.threshold}\n${grid.toString()}`;
}

function describeFigures({ metrics, body, hash }: Policy): string {
  const figures = table(["figure", "value"], 1);
  for (const name of Object.keys(metrics).sort()) figures.push([name, short(metrics[name])]);
  const size = `size          ${body.length} bytes${hash === null ? "" : `, sha256 ${hash.slice(0, 12)}`}`;
  return Object.keys(metrics).length === 0 ? size : `${size}\n${figures.toString()}`;
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
  const history = table(["version", "published", ...figures.map(([, title]) => title), "repeats"], 0);
  for (const { version, createdAt, metrics, revertOf } of versions)
    history.push([version, time(createdAt), ...figures.map(([name]) => short(metrics[name])), revertOf ?? ""]);
  return `${history.toString()}\n`;
}

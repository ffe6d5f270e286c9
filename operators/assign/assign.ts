// Assigns a request to a variant of an experiment, which sets its arms, cost weight and router
// version. A hash decides, so a user, session or tenant keeps its variant in every process. The
// decision logs it.
// Runs after deduplicate and before lookup: the response cache's key contains what a variant sets.
import { createHmac, hash } from "node:crypto";
import { sessionOf } from "../../algorithms/identity/session.ts";
import { conversationKey } from "../../algorithms/text/conversation-key.ts";
import { serves, type Declares } from "../../arms/serves.ts";
import { ok, type Step } from "../../runtime/step.ts";
import type { Assignment } from "../../schemas/types.ts";
import type { Assigned, IdentifiedRequest, Validated } from "../flow.ts";

type Needs = Pick<Validated, "request">;
type Adds = Pick<Assigned, "request" | "experiment" | "routerVersion">;

export interface Variant {
  name: string;
  arms?: readonly string[] | undefined;
  costWeight?: number | undefined;
  /** Version of the router; absent: the newest. */
  routerVersion?: number | undefined;
  weight: number;
}

export interface Experiment {
  name: string;
  /** Share of the units that take part, [0, 1]. */
  share: number;
  by: "request" | "session" | "user" | "tenant";
  tenants?: readonly string[] | undefined;
  /** The first is the control. */
  variants: readonly Variant[];
}

interface AssignableArm extends Declares {
  name: string;
  /** Answers only requests that allow no other, or whose variant names it. */
  experimental?: boolean | undefined;
}

export interface AssignDependencies {
  arms: () => readonly AssignableArm[];
  /** A request takes part in the first that it is drawn for. */
  experiments: readonly Experiment[];
  /** Whether a version of the router that a variant names can be used. */
  isPinned?: (routerVersion: number) => boolean;
  /** privacy.redact.secret: with it no user is found by hashing names. */
  unitSecret?: string | undefined;
}

export function createAssign(dependencies: AssignDependencies): Step<Needs, Adds> {
  const { arms, experiments, isPinned = () => false, unitSecret } = dependencies;
  return function assign(validated) {
    const current = arms();
    const request = withoutExperimental(validated.request, current);
    for (const experiment of experiments) {
      if (experiment.tenants !== undefined && !experiment.tenants.includes(request.tenant)) continue;
      const drawn = draw(experiment, request, unitSecret);
      if (drawn === null) continue;
      // Until every version is there, the newest routes all: the variants would not be alike.
      if (!experiment.variants.every(({ routerVersion: of }) => of === undefined || isPinned(of))) continue;
      const variants = experiment.variants.map((variant) => limited(validated.request, request, variant));
      if (!takesPart(experiment, validated.request, variants, current)) continue;
      const { routerVersion } = experiment.variants[drawn.index]!;
      return ok({ ...validated, request: variants[drawn.index]!, experiment: drawn.assignment, routerVersion });
    }
    return ok({ ...validated, request, experiment: null });
  };
}

/** Without experimental arms, which a model, alias or key may allow beside others. */
function withoutExperimental(request: IdentifiedRequest, arms: readonly AssignableArm[]): IdentifiedRequest {
  // Hot path: most systems have none.
  if (!arms.some((arm) => arm.experimental)) return request;
  const experimental = new Set(arms.filter((arm) => arm.experimental).map(({ name }) => name));
  const named = request.allow.arms ?? arms.map(({ name }) => name);
  const ordinary = named.filter((arm) => !experimental.has(arm));
  const isAsNamed = ordinary.length === named.length || (ordinary.length === 0 && request.allow.arms !== null);
  return isAsNamed ? request : { ...request, allow: { ...request.allow, arms: ordinary } };
}

/** The request under a variant; `asked`: as the client wrote it. */
function limited(
  asked: IdentifiedRequest,
  request: IdentifiedRequest,
  { arms, costWeight }: Variant,
): IdentifiedRequest {
  const named = asked.allow.arms;
  return {
    ...request,
    allow: {
      ...request.allow,
      arms: arms === undefined ? request.allow.arms : arms.filter((arm) => named === null || named.includes(arm)),
      costWeight: request.allow.costWeight ?? costWeight ?? null,
    },
  };
}

/** Each variant must be able to answer it, so that taking part does not depend on the variant. */
function takesPart(
  { variants }: Experiment,
  asked: IdentifiedRequest,
  under: readonly IdentifiedRequest[],
  arms: readonly AssignableArm[],
): boolean {
  if (asked.allow.costWeight !== null && variants.some(({ costWeight }) => costWeight !== undefined)) return false;
  return under.every(({ allow, requires }) =>
    arms.some((arm) => (allow.arms === null || allow.arms.includes(arm.name)) && serves(arm, requires)),
  );
}

function draw(
  experiment: Experiment,
  request: IdentifiedRequest,
  secret: string | undefined,
): { index: number; assignment: Assignment } | null {
  const { name, share, variants } = experiment;
  const digest = hash("sha256", JSON.stringify([name, request.tenant, ...unitOf(experiment, request)]));
  if (uniform(digest, 0) >= share) return null;
  const total = variants.reduce((sum, { weight }) => sum + weight, 0);
  let left = uniform(digest, 12) * total;
  const found = variants.findIndex(({ weight }) => (left -= weight) < 0);
  // Rounding may leave a remainder above 0.
  const index = found < 0 ? variants.length - 1 : found;
  const { name: variant, weight } = variants[index]!;
  const named = secret === undefined ? digest.slice(24) : createHmac("sha256", secret).update(digest).digest("hex");
  const assignment = { name, variant, isControl: index === 0, probability: weight / total, unit: named.slice(0, 16) };
  return { index, assignment };
}

/** Without a user the session is the unit; without a session the conversation is. */
function unitOf({ by }: Experiment, { id, tenant, metadata, messages }: IdentifiedRequest): string[] {
  if (by === "tenant") return [];
  if (by === "request") return ["request", id];
  const user = by === "user" ? (metadata["user"] ?? "") : "";
  return user === "" ? ["session", conversationKey(tenant, sessionOf(metadata), messages)] : ["user", user];
}

/** [0, 1), of 12 hexadecimal digits. */
const uniform = (digest: string, at: number): number => Number.parseInt(digest.slice(at, at + 12), 16) / 2 ** 48;

// Calls an arm again with a recorded request, for an operator on the page: the arm that they name,
// or the one that a version of the router prefers. Nothing goes to a topic or a table, so nothing
// is learnt, cached, rated or sent to a client.
import { v7 as uuid } from "uuid";
import { serves } from "../../arms/serves.ts";
import { templates } from "../../arms/templates.ts";
import type { Conversation } from "../../gateway/conversation.ts";
import { PolicyRefused, type Dashboard } from "../../gateway/page/data/dashboard.ts";
import type { AskingAgain } from "../../gateway/page/data/filters.ts";
import type { AskedAgain } from "../../gateway/page/data/types/asking.ts";
import { servingOf, targetProbabilities } from "../../operators/route/target.ts";
import { policyHistory } from "../../state/policies/history.ts";
import { decodeRouterPolicy, priorPolicy, ROUTER, type RouterPolicy } from "../../state/policies/router.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { SessionOf } from "../../state/session.ts";
import { tracedOpener } from "../arms.ts";

export interface AskAgainDependencies {
  session: Pick<SessionOf<object>, "config" | "arms" | "tracing" | "log">;
  clickhouse: Pick<ClickHouse, "query">;
  find: (id: string, tenant: string) => Promise<Conversation | null>;
}

export function createAskAgain(dependencies: AskAgainDependencies): Pick<Dashboard, "askAgain" | "armsFor"> {
  const { session, clickhouse, find } = dependencies;
  const { config, log } = session;
  const open = tracedOpener(session.tracing);
  let isAsking = false;

  /** The client may have named the arms that may read its request. */
  const armsFor = ({ allowedArms, documents, requires }: Conversation["request"]): string[] =>
    session.arms
      .routed()
      .filter(({ name, reuse }) => reuse === undefined && (allowedArms.length === 0 || allowedArms.includes(name)))
      // The gateway does not have the texts of documents.
      .filter((arm) => documents.length === 0 && serves(arm, requires))
      .map(({ name }) => name);

  async function call(asking: AskingAgain, signal: AbortSignal): Promise<AskedAgain> {
    const found = await find(asking.id, asking.tenant);
    if (found === null) throw new PolicyRefused("This request is not recorded.");
    const allowed = armsFor(found.request);
    const chosen = asking.arm === undefined ? await preferredBy(asking.policyVersion ?? 0, found, allowed) : null;
    const name = asking.arm ?? chosen?.arm ?? "";
    const arm = session.arms.routed().find((one) => one.name === name);
    const settings = session.arms.configured().find((one) => one.name === name);
    if (arm === undefined || settings === undefined || !allowed.includes(name))
      throw new PolicyRefused(`The arm ${JSON.stringify(name)} can't be asked: ${whyNot(found.request)}.`);
    const { request, decision } = found;
    const shown = arm.examples ? (decision?.arms.find((one) => one.arm === name)?.examples ?? []) : [];
    const texts = new Map(found.examples.map((example) => [example.id, example]));
    const examples = shown.flatMap(({ id }) => texts.get(id) ?? []);
    const pieces = templates[arm.template].pieces({ messages: request.messages, system: arm.system, examples });
    const opened = await open(settings, { log }).catch((error: unknown) => {
      log.warn({ err: error, arm: name }, "an arm can't be opened to ask a request again");
      throw new PolicyRefused(`The arm ${name} can't be opened in the gateway's process; its log says why.`);
    });
    const begun = performance.now();
    let firstTokenMs: number | null = null;
    try {
      const result = await opened.answer(
        {
          ...{ requestId: uuid(), pieces, params: request.params, maxCost: asking.maxCost },
          deadline: Date.now() + config.limits.deadlineMs,
          ...(request.passthrough !== "" && { passthrough: request.passthrough }),
        },
        signal,
        () => (firstTokenMs ??= performance.now() - begun),
      );
      const isAnswer = result.kind === "answer";
      const usage = isAnswer ? result.usage : result.spent?.usage;
      const cost = isAnswer ? result.cost : (result.spent?.cost ?? 0);
      log.info({ requestId: request.id, tenant: request.tenant, arm: name, cost }, "asked again from the page");
      // The cost is logged, also when the client has gone.
      signal.throwIfAborted();
      return {
        ...{ arm: name, model: isAnswer ? result.model : arm.model, status: isAnswer ? "ok" : "failed", cost },
        ...(isAnswer
          ? { text: result.text, passthrough: result.passthrough ?? "", finishReason: result.finishReason }
          : { text: "", passthrough: "", finishReason: null }),
        ...{ promptTokens: usage?.prompt ?? 0, completionTokens: usage?.completion ?? 0 },
        ...{ firstTokenMs, totalMs: performance.now() - begun },
        ...(isAnswer
          ? { errorCode: null, errorMessage: null }
          : { errorCode: result.code, errorMessage: result.message }),
        ...{ examples: examples.length, goneExamples: shown.length - examples.length },
        ...{ policyVersion: chosen === null ? null : (asking.policyVersion ?? 0) },
        probability: chosen?.probability ?? null,
      };
    } finally {
      await opened.close();
    }
  }

  /** The most probable of the allowed arms, given their logged features. */
  async function preferredBy(version: number, { request, decision }: Conversation, allowed: readonly string[]) {
    const candidates = (decision?.arms ?? []).filter(({ arm }) => allowed.includes(arm));
    if (candidates.length === 0) throw new PolicyRefused("No router chose an arm for it, so none can choose again.");
    const target = { kind: "router", name: ROUTER, policy: await routerOf(version) } as const;
    const chances = chancesOf(() => targetProbabilities(target, candidates, servingOf(config.routing), request));
    const probability = Math.max(...chances);
    const arm = candidates[chances.indexOf(probability)]?.arm;
    if (arm === undefined) throw new PolicyRefused(cannotJudge);
    return { arm, probability };
  }

  async function routerOf(version: number): Promise<RouterPolicy> {
    if (version === 0) return priorPolicy;
    const [record] = await policyHistory(clickhouse, ROUTER, { version, limit: 1 });
    const policy = record === undefined ? { problem: "there is no such version" } : decodeRouterPolicy(record);
    if ("problem" in policy)
      throw new PolicyRefused(`Version ${version} of the router can't be used: ${policy.problem}.`);
    return policy;
  }

  return {
    armsFor,
    async askAgain(asking, signal) {
      if (isAsking) throw new PolicyRefused("This gateway is asking another request again: try when that has ended.");
      isAsking = true;
      try {
        return await call(asking, signal);
      } finally {
        isAsking = false;
      }
    },
  };
}

/** The policy may have another layout than the logged features, which is a RangeError. */
function chancesOf(compute: () => readonly number[] | null): readonly number[] {
  try {
    return compute() ?? [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new PolicyRefused(cannotJudge);
  }
}
const cannotJudge = "This version of the router can't judge what was logged of the request.";

const whyNot = ({ documents }: Conversation["request"]): string =>
  documents.length > 0
    ? "the request names documents, whose texts the gateway does not have"
    : "it is not configured, the client did not allow it, or it lacks what the request needs";

// Operators' acts on examples: keep an answer, correct an example, take one out. They publish as
// imports and removals do. Admission's rules hold, except that no rating is needed.
import { renumberPlaceholders } from "../../algorithms/privacy/placeholders.ts";
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import { withoutTemplateMarkers } from "../../algorithms/text/template-markers.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { TextError } from "../../connections/text/port.ts";
import type { Conversation } from "../../gateway/conversation.ts";
import { refusalWord } from "../../gateway/page/client/words.ts";
import { PolicyRefused, type Dashboard } from "../../gateway/page/data/dashboard.ts";
import type { Candidate } from "../../operators/admit/candidates.ts";
import { questionOf, refusalOf } from "../../operators/admit/qualify.ts";
import type { ExampleChange } from "../../state/examples/port.ts";
import { makeExample } from "../../operators/make-example.ts";
import { redactsCandidates } from "../../operators/redaction.ts";
import { sendOnce } from "../../runtime/send-once.ts";
import type { SessionOf } from "../../state/session.ts";
import { exampleMessages } from "../curate/example-messages.ts";
import type { gateway } from "./pipeline.ts";

export interface ExampleActsDependencies {
  session: SessionOf<typeof gateway>;
  /** Reads only. */
  clickhouse: Pick<ClickHouse, "query">;
  embedder: () => Promise<Embedder>;
  find: (id: string, tenant: string) => Promise<Conversation | null>;
}

interface Known {
  tenant: string;
  domain: string;
  arm: string;
  model: string;
  requestId: string | null;
}

const dayMs = 86_400_000;
/** By then ClickHouse has what was published. */
const recordedMs = 30_000;

export function createExampleActs(dependencies: ExampleActsDependencies): Dashboard["exampleActs"] {
  const { session, clickhouse, embedder, find } = dependencies;
  const { config, kafka, log } = session;
  const { admit } = config.curate;
  const sharing = createSharedDomains(config.sharing);
  const redact = redactsCandidates(session);

  const known = (id: string): Promise<Known[]> =>
    clickhouse.query<Known>(
      `SELECT tenant, domain, source_arm AS arm, source_model AS model, source_request_id AS requestId
       FROM examples FINAL WHERE example_id = {id:String} AND NOT deleted LIMIT 100`,
      { id },
    );

  /** Until when each is taken as gone: ClickHouse may have it still. */
  const leaving = new Map<string, number>();
  /** Serves one of two simultaneous acts that take an example away; the other is refused. */
  async function takeAway<T>(id: string, act: () => Promise<T>): Promise<T> {
    for (const [one, until] of leaving) if (until <= Date.now()) leaving.delete(one);
    if (leaving.has(id)) throw gone(id);
    leaving.set(id, Infinity);
    try {
      const done = await act();
      leaving.set(id, Date.now() + recordedMs);
      return done;
    } catch (error) {
      leaving.delete(id);
      throw error;
    }
  }

  async function publish(changes: readonly ExampleChange[]): Promise<void> {
    await sendOnce(kafka, await exampleMessages(session, changes));
  }

  /** Rejects with PolicyRefused if it can't be an example, or is one already. */
  async function made(candidate: Candidate, domain: string) {
    const refusal = refusalOf(candidate, admit);
    if (refusal !== null) throw new PolicyRefused(`It can't be an example: ${refusalWord(refusal)}.`);
    const texts = await redact([questionOf(candidate) ?? "", candidate.text], candidate).catch((error: unknown) => {
      throw error instanceof TextError ? new PolicyRefused(error.message) : error;
    });
    const [request = "", response = ""] = renumberPlaceholders(texts).map(withoutTemplateMarkers);
    const opened = await embedder().catch(() => {
      throw new PolicyRefused("The embedding model can't be opened; the gateway's log says why.");
    });
    const { tenant, arm, model, requestId } = candidate;
    const createdAt = Date.now();
    const value = makeExample(
      {
        ...{ tenant, domain, request, response, quality: 1 },
        source: { arm, model, requestId: requestId === "" ? null : requestId },
        expiresAt: admit.ttlDays === 0 ? null : createdAt + admit.ttlDays * dayMs,
      },
      { vector: await opened.embed(request), model: opened.model, createdAt },
    );
    if ((await known(value.id)).length > 0)
      throw new PolicyRefused(`There is such an example already: ${value.id.slice(0, 12)}.`);
    return { id: value.id, domain, value };
  }

  const confirmed = { documents: 0, finishReason: null, quality: 1, confirmed: true, rewardVersion: 0 };

  return {
    async keep(id, tenant) {
      const found = await find(id, tenant);
      if (found?.response?.status !== "ok") throw new PolicyRefused("There is no answer to keep.");
      const { request, response } = found;
      if (response.source === "cache" || response.source === "reuse")
        throw new PolicyRefused("It repeats another answer: keep that one.");
      const candidate: Candidate = {
        ...{ ...confirmed, source: "response", requestId: id, tenant, domain: request.domain },
        ...{ messages: request.messages, documents: request.documents.length, text: response.text },
        ...{ finishReason: response.finishReason, arm: response.arm ?? "", model: response.model ?? "" },
        ...{ privacyCache: request.privacy.cache, privacyShare: request.privacy.share },
      };
      const change = await made(candidate, sharing.homeOf(candidate));
      await publish([change]);
      return { id: change.id };
    },

    edit: ({ id, request, response }) =>
      takeAway(id, async () => {
        const [example] = await known(id);
        if (example === undefined) throw gone(id);
        const { requestId, ...kept } = example;
        const candidate: Candidate = {
          ...{ ...confirmed, ...kept, source: "correction", requestId: requestId ?? "", text: response },
          ...{ messages: [{ role: "user", content: request }], privacyCache: true, privacyShare: true },
        };
        const change = await made(candidate, example.domain);
        // If the removal is lost, both are examples, and the old one can be taken out.
        await publish([change, { id, domain: example.domain, value: null }]);
        log.info({ example: id, by: change.id }, "an example was corrected on the page");
        return { id: change.id };
      }),

    remove: (id) =>
      takeAway(id, async () => {
        const found = await known(id);
        if (found.length === 0) throw gone(id);
        await publish(found.map(({ domain }) => ({ id, domain, value: null })));
        log.info({ example: id }, "an example was taken out on the page");
        return { id };
      }),
  };
}

const gone = (id: string): PolicyRefused => new PolicyRefused(`The example ${id.slice(0, 12)} no longer exists.`);

// The first verb of curate: decides whether an answer becomes an example. Personal data is replaced
// and markers of chat templates are broken before anything is kept or compared. The id follows from
// domain, request and response, so the same answer is the same example however often it comes.
// Decides, and publishes nothing: what it wants changed is returned, and counts as done for the
// candidates after it in the same batch.
import { exampleId } from "../../algorithms/identity/identity.ts";
import { renumberPlaceholders } from "../../algorithms/privacy/placeholders.ts";
import { isSharedDomain, type SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { withoutTemplateMarkers } from "../../algorithms/text/template-markers.ts";
import { dot, embeddingFromBytes, embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import type { ExampleSearch, HeldExample } from "../../state/examples/port.ts";
import type { Example } from "../../schemas/types.ts";
import type { ExampleChange } from "../../state/examples/port.ts";
import { makeExample } from "../make-example.ts";
import type { Candidate } from "./candidates.ts";
import { questionOf, refusalOf, type AdmissionRules, type Refusal } from "./qualify.ts";

/** What plan and curate hold of the examples; opened when the first candidate needs it. */
export interface ExampleStore {
  embedder: Pick<Embedder, "model" | "dimension" | "embed">;
  pool: Pick<ExampleSearch, "nearest"> & {
    get(id: string, domain: string): HeldExample | undefined | Promise<HeldExample | undefined>;
  };
}

export interface AdmitDependencies {
  examples(): Promise<ExampleStore>;
  rules: AdmissionRules & {
    /** Cosine from which two requests of a domain count as the same. */
    nearDuplicate: number;
    /** Milliseconds that an example lives; null: for ever. */
    ttlMs: number | null;
  };
  /** Question and answer with placeholders. Rejects as TextWork does. */
  redact: (texts: readonly [string, string], candidate: Candidate) => Promise<string[]>;
  /** What tenants share is kept together. */
  sharing: Pick<SharedDomains, "homeOf">;
  clock: () => number;
}

/** kept: an example already. withdrawn: it was one, and no longer qualifies. */
export interface Admission {
  outcome: "admitted" | "replaced" | "kept" | "refused" | "withdrawn";
  reason: Refusal | null;
  /** The example that it is, or that stands in its way. */
  exampleId: string | null;
  quality: number;
  changes: ExampleChange[];
}

const neighbours = 16;
/** A smaller change of quality is not worth a record. */
const qualityStep = 0.01;

/** One batch: decide() sees the changes of the decisions before it. */
export function createAdmit({ examples, rules, redact, sharing, clock }: AdmitDependencies) {
  return function batch(): { decide(candidate: Candidate): Promise<Admission> } {
    const changed = new Map<string, ExampleChange>();
    const note = (changes: ExampleChange[]): ExampleChange[] => {
      for (const change of changes) changed.set(change.id, change);
      return changes;
    };
    return {
      async decide(candidate) {
        const quality = candidate.quality ?? 0;
        const refused = (reason: Refusal, id: string | null = null): Admission => ({
          outcome: "refused",
          reason,
          exampleId: id,
          quality,
          changes: [],
        });
        const refusal = refusalOf(candidate, rules);
        if (refusal !== null) return refused(refusal);
        // Texts that were redacted when recorded have placeholders with keyed numbers.
        const [request = "", response = ""] = renumberPlaceholders(
          await redact([questionOf(candidate) ?? "", candidate.text], candidate),
        ).map(withoutTemplateMarkers);
        const domain = sharing.homeOf(candidate);
        const id = exampleId(domain, request, response);
        const { pool, embedder } = await examples();
        const held = changed.has(id) ? (changed.get(id)?.value ?? undefined) : await pool.get(id, domain);
        const poor = tooPoor(candidate, domain);
        if (held !== undefined) return settle(candidate, held, poor, note, embedder);
        if (poor !== null) return refused(poor);

        const vector = await embedder.embed(request);
        const alike = await similar(domain, vector, pool, embedder.dimension);
        // A correction is better than what it corrects, whatever that is rated.
        const corrected = (example: HeldExample): boolean =>
          candidate.source === "correction" && example.source.requestId === candidate.requestId;
        const better = alike.find((example) => example.quality >= quality && !corrected(example));
        if (better !== undefined) return refused("near_duplicate", better.id);
        const { tenant, arm, model, requestId } = candidate;
        const createdAt = clock();
        const value = makeExample(
          {
            ...{ tenant, domain, request, response, quality, source: { arm, model, requestId } },
            expiresAt: rules.ttlMs === null ? null : createdAt + rules.ttlMs,
          },
          { vector, model: embedder.model, createdAt },
        );
        // A tenant takes out what is its own.
        const replaced = alike.filter(({ tenant }) => tenant === candidate.tenant);
        const changes = [
          ...replaced.map((example): ExampleChange => ({ id: example.id, domain, value: null })),
          { id, domain, value },
        ];
        return {
          outcome: replaced.length > 0 ? "replaced" : "admitted",
          reason: null,
          exampleId: id,
          quality,
          changes: note(changes),
        };
      },
    };

    function tooPoor({ source, quality, confirmed }: Candidate, domain: string): Refusal | null {
      if (quality === null) return "unrated";
      if (quality < rules.minimumQuality) return "quality";
      // Anybody who reads an answer may hold its token: what only they say waits for the tenant.
      return !confirmed && (source === "correction" || isSharedDomain(domain)) ? "unconfirmed" : null;
    }

    /** The pair is an example already: its quality follows the request that it came from. */
    async function settle(
      candidate: Candidate,
      held: HeldExample,
      poor: Refusal | null,
      keep: (changes: ExampleChange[]) => ExampleChange[],
      embedder: ExampleStore["embedder"],
    ): Promise<Admission> {
      const quality = candidate.quality ?? 0;
      const own = held.source.requestId === candidate.requestId && held.tenant === candidate.tenant;
      const { id, domain } = held;
      if (own && poor !== null)
        return {
          outcome: "withdrawn",
          reason: poor,
          exampleId: id,
          quality,
          changes: keep([{ id, domain, value: null }]),
        };
      const moved = own && Math.abs(held.quality - quality) >= qualityStep;
      if (!moved)
        return { outcome: poor === null ? "kept" : "refused", reason: poor, exampleId: id, quality, changes: [] };
      // The pool gives no vector with it, and may have had it from another model.
      const embedding = embeddingToBytes(await embedder.embed(held.request));
      const value: Example = { ...held, quality, embedding, embeddingModel: embedder.model };
      const changes = keep([{ id, domain, value }]);
      return { outcome: poor === null ? "kept" : "refused", reason: poor, exampleId: id, quality, changes };
    }

    async function similar(
      domain: string,
      vector: Float32Array,
      pool: ExampleStore["pool"],
      dimension: number,
    ): Promise<HeldExample[]> {
      const near = await pool.nearest(domain, vector, neighbours, clock());
      const standing = near
        .filter(({ similarity, example }) => similarity >= rules.nearDuplicate && !changed.has(example.id))
        .map(({ example }) => example);
      const fresh = [...changed.values()].flatMap(({ value }) => {
        if (value?.domain !== domain) return [];
        const other = embeddingFromBytes(value.embedding, dimension);
        return other instanceof Float32Array && dot(vector, other) >= rules.nearDuplicate ? [value] : [];
      });
      return [...standing, ...fresh];
    }
  };
}

// The example that a pair of an imported file becomes. The same pair gets the same id.
import { embeddingToBytes } from "../algorithms/selection/embedding.ts";
import { exampleBytes } from "../algorithms/selection/example-bytes.ts";
import { exampleId, sharingDomain } from "../algorithms/identity/identity.ts";
import { replacePersonalData } from "../algorithms/privacy/pii.ts";
import { withoutTemplateMarkers } from "../algorithms/text/template-markers.ts";
import type { Config } from "../config/schema.ts";
import type { Example } from "../schemas/types.ts";
import type { Pair } from "./pairs.ts";

export interface Owner {
  tenant: string;
  domain?: string;
}

export const pairId = (pair: Pair, owner: Owner): string =>
  exampleId(domainOf(pair, owner), pair.request, pair.response);

const domainOf = (pair: Pair, owner: Owner): string =>
  sharingDomain(pair.tenant ?? owner.tenant, pair.domain ?? owner.domain ?? null);

/** As curate does before an example is kept; markers of chat templates are broken, too. */
export function withoutPersonalData(pair: Pair, config: Config): Pair {
  const [request = "", response = ""] = replacePersonalData(
    [pair.request, pair.response],
    config.curate.personalData,
  ).texts.map(withoutTemplateMarkers);
  return { ...pair, request, response };
}

export function toExample(
  pair: Pair,
  owner: Owner,
  vector: Float32Array,
  embeddingModel: string,
  now: number,
): Example {
  const tenant = pair.tenant ?? owner.tenant;
  const domain = domainOf(pair, owner);
  const embedding = embeddingToBytes(vector);
  return {
    id: exampleId(domain, pair.request, pair.response),
    tenant,
    domain,
    request: pair.request,
    response: pair.response,
    embedding,
    embeddingModel,
    source: { arm: "import", model: pair.model ?? "unknown", requestId: null },
    quality: pair.quality ?? 1,
    bytes: exampleBytes(pair.request, pair.response, embedding.length / Float32Array.BYTES_PER_ELEMENT),
    expiresAt: null,
    replays: 0,
    createdAt: now,
  };
}

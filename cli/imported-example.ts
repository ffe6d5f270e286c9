// The example that a pair of an imported file becomes. The same pair gets the same id.
import { exampleId, sharingDomain } from "../algorithms/identity/identity.ts";
import { replacePersonalData } from "../algorithms/privacy/pii.ts";
import { withoutTemplateMarkers } from "../algorithms/text/template-markers.ts";
import type { Config } from "../config/schema.ts";
import { makeExample } from "../operators/make-example.ts";
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
  const { request, response, quality = 1, model = "unknown", tenant = owner.tenant } = pair;
  return makeExample(
    {
      ...{ tenant, domain: domainOf(pair, owner), request, response, quality, expiresAt: null },
      source: { arm: "import", model, requestId: null },
    },
    { vector, model: embeddingModel, createdAt: now },
  );
}

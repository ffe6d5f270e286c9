// How large the parts of a request may be beside its text: names are keys of topics, tables and
// memories, and metadata is kept with every row.
import { metadataBytes, mostMetadataBytes, nameProblem } from "../../algorithms/identity/names.ts";
import { refuse, type Refuse } from "../../runtime/step.ts";
import type { Request } from "../../schemas/types.ts";

/** Documents that a request may name, messages that it may have. */
const mostDocuments = 256;
const mostMessages = 4_096;

/** name_too_long, metadata_too_large, too_many_messages, too_many_documents, or null. */
export function boundsProblem({ id, tenant, domain, account, documents, messages, metadata }: Request): Refuse | null {
  if (documents.length > mostDocuments)
    return refuse(
      "too_many_documents",
      `The request names ${documents.length} documents and the limit is ${mostDocuments}.`,
    );
  const names = Object.fromEntries(documents.map((name, index) => [`documents[${index}]`, name]));
  const long = nameProblem({ id, tenant, domain, account, ...names });
  // Its response stands under the sha256 of an id that is too long.
  if (long !== null) return refuse("name_too_long", `Too long a name: ${long}`);
  if (messages.length > mostMessages)
    return refuse("too_many_messages", `The request has ${messages.length} messages and the limit is ${mostMessages}.`);
  const bytes = metadataBytes(metadata);
  return bytes > mostMetadataBytes.request
    ? refuse(
        "metadata_too_large",
        `The metadata has ${bytes} bytes and the limit is ${mostMetadataBytes.request}: keep it elsewhere and name it here.`,
      )
    : null;
}

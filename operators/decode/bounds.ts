// What of feedback or observations is too large or no value of its kind: it is dead-lettered with
// the reason. Plan refuses such requests itself.
import { feedbackProblem } from "../../algorithms/identity/feedback.ts";
import { metadataBytes, mostMetadataBytes, nameProblem } from "../../algorithms/identity/names.ts";
import type { RecordOf } from "../../schemas/records.ts";
import type { RecordedTopic } from "./rows.ts";

const problems: { [N in RecordedTopic]?: (record: RecordOf[N]) => string | null } = {
  feedback: (record) =>
    record.requestId === ""
      ? "requestId is empty: feedback on a whole session goes to the gateway (POST /v1/feedback)."
      : (feedbackProblem(record)?.why ?? null),
  observations({ tenant, domain, source, request, quality }) {
    // It decides which of two like examples stays: one that claims more than all there is would
    // displace them all.
    if (quality !== null && !(quality >= 0 && quality <= 1)) return `quality is ${quality}, and it lies in [0, 1].`;
    const { arm, model, requestId } = source;
    const name = nameProblem({
      ...{ tenant, domain, "request.id": request.id, "request.domain": request.domain },
      ...{ "source.arm": arm, "source.model": model, "source.requestId": requestId },
    });
    if (name !== null) return name;
    const bytes = metadataBytes(request.metadata);
    const most = mostMetadataBytes.recorded;
    return bytes > most ? `metadata has ${bytes} bytes, and it may have ${most}.` : null;
  },
};

export function boundsProblem<N extends RecordedTopic>(topic: N, record: RecordOf[N]): string | null {
  return problems[topic]?.(record) ?? null;
}

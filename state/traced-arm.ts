// An arm whose calls are spans of their own, below whatever the call is made for, and whose calls
// of an endpoint carry the trace on. Retries are one span: attempts says how many there were.
import type { Arm, ArmAnswer, ArmRequest } from "../arms/arm.ts";
import type { Facts, SpanStart, Tracing } from "../connections/tracing/port.ts";

/** provider: the kind of arm, because the model's maker is unknown here. */
export function traceArm(arm: Arm, provider: string, tracing: Tracing): Arm {
  return {
    ...arm,
    async answer(request, signal, onText) {
      const start: SpanStart = {
        name: `chat ${arm.model}`,
        kind: "model",
        facts: asked(arm, provider, request),
      };
      const span = tracing.current()?.child(start) ?? tracing.follow({}, start);
      try {
        const result = await span.during(() => arm.answer(request, signal, onText));
        if (result.kind === "answer") span.set(answered(result));
        else span.set({ attempts: result.attempts });
        span.end(result.kind === "answer" ? {} : { error: result.code });
        return result;
      } catch (error) {
        span.end({ error: "internal_error" });
        throw error;
      }
    },
  };
}

function asked({ name, model }: Arm, provider: string, { requestId, tenant, params }: ArmRequest): Facts {
  return {
    ...{ provider, requestModel: model, arm: name, requestId, tenant },
    maxTokens: params.maxTokens ?? undefined,
    temperature: params.temperature ?? undefined,
    topP: params.topP ?? undefined,
    seed: params.seed ?? undefined,
  };
}

function answered({ model, finishReason, usage, firstTokenMs, attempts, cost, source }: ArmAnswer): Facts {
  return {
    ...{ responseModel: model, finishReasons: [finishReason], attempts, cost, source },
    inputTokens: usage.prompt,
    outputTokens: usage.completion,
    cachedTokens: usage.cached,
    cacheWriteTokens: usage.cacheWrite,
    reasoningTokens: usage.reasoning,
    ...(firstTokenMs === null ? {} : { firstTokenAfter: firstTokenMs / 1_000 }),
  };
}

/** For a call of an endpoint, which gets nothing that clients put beside their traces. */
export function callHeaders(tracing: Tracing): Record<string, string> {
  const traceparent = tracing.current()?.headers["traceparent"];
  return traceparent === undefined ? {} : { traceparent };
}

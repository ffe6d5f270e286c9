// Personal data in what stages pass on, replaced as privacy.redact says: in answers before they go
// out, and in candidates for examples, which may have been recorded with placeholders.
import type { Logger } from "pino";
import { scopeOf, type MaskItem } from "../algorithms/privacy/mask.ts";
import { maskOptions } from "../config/sections/privacy.ts";
import { TextError } from "../connections/text/port.ts";
import type { AdmitDependencies } from "./admit/admit.ts";
import type { CallDependencies } from "./call/call.ts";
import type { FirstResponses } from "./deduplicate/first-responses.ts";
import type { FailedArm, ResponseError } from "../schemas/types.ts";
import type { SessionOf } from "../state/session.ts";

type TextSession = Pick<SessionOf<object>, "config" | "text">;

/** What of a response a client reads. */
interface ClientText {
  text: string;
  stopSequence: string | null;
  passthrough: string | null;
  error: ResponseError | null;
  /** Absent: a first response, which is repeated without them. */
  failedArms?: FailedArm[];
}

/** undefined: answers go out as they are. */
function redactsClientText({ config, text }: TextSession) {
  const options = maskOptions(config);
  if (!config.privacy.redact.responses || options === undefined) return undefined;
  return async <T extends ClientText>(reported: T, tenant: string, requestId: string): Promise<T> => {
    const scope = scopeOf(tenant, requestId);
    const items: MaskItem[] = [
      { text: reported.text, scope },
      { text: reported.passthrough ?? "", scope, form: "json" },
      { text: reported.error?.message ?? "", scope },
      { text: reported.stopSequence ?? "", scope },
      ...(reported.failedArms ?? []).map(({ message }) => ({ text: message, scope })),
    ];
    const [answer = "", passthrough = "", message = "", stop = "", ...failures] = await text.mask(items, options);
    return {
      ...reported,
      text: answer,
      stopSequence: reported.stopSequence === null ? null : stop,
      passthrough: reported.passthrough === null ? null : passthrough,
      error: reported.error === null ? null : { ...reported.error, message },
      ...(reported.failedArms && {
        failedArms: reported.failedArms.map((failed, i) => ({ ...failed, message: failures[i] ?? "" })),
      }),
    };
  };
}

/** For arms that are called. */
export function redactsResponses(session: TextSession, log: Logger): CallDependencies["redact"] {
  const redact = redactsClientText(session);
  if (redact === undefined) return undefined;
  return async (response) => {
    try {
      return await redact(response, response.tenant, response.requestId);
    } catch (error) {
      if (!(error instanceof TextError)) throw error;
      log.warn({ err: error, requestId: response.requestId }, "an answer could not be redacted: it is not sent");
      return null;
    }
  };
}

/** For repeats: what was answered before may have gone out in clear. May reject with TextError. */
export function redactsFirst(session: TextSession, first: FirstResponses): FirstResponses {
  const redact = redactsClientText(session);
  if (redact === undefined) return first;
  return {
    async find(tenant, requestId, now) {
      const found = await first.find(tenant, requestId, now);
      return found === null || found === "gone" ? found : redact(found, tenant, requestId);
    },
  };
}

/** With the numbers that record gave the same values, where it did. */
export function redactsCandidates({ config, text }: TextSession): AdmitDependencies["redact"] {
  const { personalData } = config.curate;
  const options = maskOptions(config);
  if (options === undefined) return (texts) => text.redact(texts, personalData);
  return (texts, { tenant, requestId }) =>
    text.mask(
      texts.map((one) => ({ text: one, scope: scopeOf(tenant, requestId) })),
      options,
    );
}

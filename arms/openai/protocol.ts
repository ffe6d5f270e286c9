// What differs between the formats in which endpoints are called.
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { ArmRequest } from "../arm.ts";
import { createAnswer, type Answer, type AnswerOptions } from "./answer.ts";
import { completionBody, completionsUrl, keyHeaders, type Credentials } from "./body.ts";

export interface Protocol {
  /** Name of the endpoint's member for the most tokens of an answer. */
  maxTokensField: "max_tokens" | "max_completion_tokens";
  url(baseUrl: string): string;
  /** For all attempts at the request. Throws Unsendable. */
  prepare(request: ArmRequest): Prepared;
}

export interface Prepared {
  /** JSON. */
  body: string;
  headers(replica: Credentials & { baseUrl: string }): Record<string, string>;
  /** Reads the answer of an attempt. */
  open(options: AnswerOptions): Answer;
}

/** The format has no member for a part of the request; the message names the part. */
export class Unsendable extends Error {
  constructor(
    what: string,
    readonly param: string,
  ) {
    super(what);
  }
}

export const openAiProtocol = (config: OpenAiArmConfig): Protocol => ({
  maxTokensField: config.maxTokensField,
  url: completionsUrl,
  prepare: (request) => ({ body: completionBody(config, request), headers: keyHeaders, open: createAnswer }),
});

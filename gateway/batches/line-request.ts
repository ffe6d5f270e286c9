// A line of a batch as the request that its address would make of it, and an answer in the format
// of that address.
import { rawMembers } from "../../algorithms/text/exact-json.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { BatchLine } from "../../schemas/types.ts";
import { completionRequest, textCompletion } from "../api/completions.ts";
import { chatRequest, type ChatBody, type Served } from "../api/request.ts";
import { chatCompletion } from "../api/response.ts";
import { finishedResponse } from "../api/responses/answer.ts";
import { responsesRequest } from "../api/responses/request.ts";
import { ApiError, badRequest } from "../errors.ts";
import { parseJson } from "../json.ts";
import type { Format } from "../routes/answer.ts";

export interface LineRequest {
  body: ChatBody;
  answer: Format["answer"];
}

type Read = (body: Record<string, unknown>, served: Served, text: string) => LineRequest;

const addresses: Readonly<Record<string, Read>> = {
  "/v1/chat/completions": (body, served, text) => ({
    body: chatRequest(body, served, text),
    answer: (response, of) => chatCompletion(response, of),
  }),
  "/v1/completions": (body, served, text) => ({
    body: completionRequest(body, served, text),
    answer: (response, of) => textCompletion(response, of),
  }),
  "/v1/responses": (body, served, text) => {
    if ((body["previous_response_id"] ?? null) !== null) throw unserved("previous_response_id");
    const read = responsesRequest(body, served, { text });
    return {
      body: read,
      answer: (response, of) => finishedResponse(response, { ...of, echo: read.echo, namespaces: read.namespaces }),
    };
  },
};

export const endpoints: readonly string[] = Object.keys(addresses);

/** endpoint: that of the batch. Throws ApiError. */
export function lineRequest(
  { text, tooLong }: Pick<BatchLine, "text" | "tooLong">,
  { endpoint, served, mostBytes }: { endpoint: string; served: Served; mostBytes: number },
): LineRequest {
  if (tooLong)
    throw new ApiError({
      ...{ status: 413, code: "body_too_large" },
      message: `This line has more than ${mostBytes} bytes (gateway.maxBodyBytes).`,
    });
  const line = parseJson(text);
  const { url, body } = isObject(line) ? line : {};
  const written = rawMembers(text).get("body");
  const read = addresses[endpoint];
  if (url !== endpoint || read === undefined || !isObject(body) || written === undefined)
    throw badRequest(`url must be the batch's endpoint, ${endpoint}, and body a JSON object.`, "url", "invalid_url");
  const found = read(body, served, written);
  if (found.body.stream) throw unserved("stream");
  if (found.body.n > 1) throw unserved("n");
  return found;
}

const unserved = (name: string): ApiError =>
  badRequest(`${name} is not served in a batch: leave it out.`, name, "unsupported_parameter");

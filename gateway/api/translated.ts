// A chat completion's body translated from another format. Errors name the members of the client's
// own body.
import { exactJson } from "../../algorithms/text/exact-json.ts";
import { ApiError, badRequest } from "../errors.ts";
import { chatRequest, type ChatBody, type Served } from "./request.ts";

export interface Translation {
  /** May hold RawJson. */
  chat: Record<string, unknown>;
  /** The path of each message in the client's body. */
  origins: readonly string[];
  /** The client's names for members of a chat completion, if they differ. */
  names: Readonly<Record<string, string>>;
}

/** Throws ApiError. */
export function translatedRequest({ chat, origins, names }: Translation, served: Served): ChatBody {
  const text = exactJson(chat);
  const pathOf = (path: string): string =>
    path
      .replace(/^messages\[(\d+)\].*/, (_, index) => origins[Number(index)] ?? "")
      .replace(/^\w+/, (name) => names[name] ?? name);
  try {
    const read = chatRequest(JSON.parse(text), served, text);
    return { ...read, fields: new Map([...read.fields].map(([capability, path]) => [capability, pathOf(path)])) };
  } catch (error) {
    if (!(error instanceof ApiError) || error.param === undefined) throw error;
    const { status, code, param, message } = error;
    throw new ApiError({ status, code, param: pathOf(param), message: message.replace(param, () => pathOf(param)) });
  }
}

export const unservedMember = (name: string): ApiError =>
  badRequest(
    `The parameter ${name.slice(0, 80)} is not served with this value: leave it out.`,
    name.slice(0, 80),
    "unsupported_parameter",
  );

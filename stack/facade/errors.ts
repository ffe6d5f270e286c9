// ClickHouse's errors as its HTTP interface shows them: number, text and HTTP status, so that any
// ClickHouse client classes them as it would a server's.
import { messageOf } from "../../connections/errors.ts";

/** An error with ClickHouse's number and name; `message` is the text after "DB::Exception: ". */
export class DatabaseError extends Error {
  override name = "DatabaseError";
  constructor(
    readonly code: number,
    readonly type: string,
    message: string,
  ) {
    super(message);
  }
}

const ofCode =
  (code: number, type: string) =>
  (message: string): DatabaseError =>
    new DatabaseError(code, type, message);

export const readonlyMode = ofCode(164, "READONLY");
export const accessDenied = ofCode(497, "ACCESS_DENIED");
export const constraintViolation = ofCode(452, "SETTING_CONSTRAINT_VIOLATION");
export const timedOut = ofCode(159, "TIMEOUT_EXCEEDED");
export const badArguments = ofCode(36, "BAD_ARGUMENTS");
export const notImplemented = ofCode(48, "NOT_IMPLEMENTED");
export const tooManyQueries = ofCode(202, "TOO_MANY_SIMULTANEOUS_QUERIES");
export const authenticationFailed = ofCode(516, "AUTHENTICATION_FAILED");

// Codes that a server answers with something else than 500; the clients read the code, proxies and
// curl -f read the status.
const codes: Readonly<Record<string, readonly number[]>> = {
  400: [6, 26, 27, 36, 38, 41, 43, 44, 53, 62, 72, 117, 130, 307, 396, 452],
  403: [164, 497, 516],
  404: [46, 47, 60, 73, 81, 115],
  408: [159],
  413: [131],
  499: [394],
  501: [48],
  503: [202, 203],
};
export const httpStatus = (code: number): number =>
  Number(Object.keys(codes).find((status) => codes[status]!.includes(code)) ?? 500);

const shape = /^Code: (\d+)\. DB::\w*Exception: ([\s\S]*)\(([A-Z0-9_]+)\)(?: \(version [^)]*\))?\.?\s*$/;

/** What chdb threw ("Code: N. DB::Exception: ..."), as a DatabaseError. */
export function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  let text = messageOf(error);
  let found: DatabaseError | undefined;
  for (let layer = shape.exec(text); layer; layer = shape.exec(text)) {
    text = (layer[2] ?? "").trimEnd();
    found = new DatabaseError(Number(layer[1]), layer[3] ?? "UNKNOWN_EXCEPTION", text);
  }
  return found ?? new DatabaseError(1002, "UNKNOWN_EXCEPTION", text);
}

/** The body of an error response; without the version for those who have no token. */
export const errorText = (error: DatabaseError, version?: string): string =>
  `Code: ${error.code}. DB::Exception: ${error.message} (${error.type})${version ? ` (version ${version})` : ""}\n`;

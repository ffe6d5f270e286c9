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

export const readonlyMode = (message: string): DatabaseError => new DatabaseError(164, "READONLY", message);
export const accessDenied = (message: string): DatabaseError => new DatabaseError(497, "ACCESS_DENIED", message);
export const constraintViolation = (message: string): DatabaseError =>
  new DatabaseError(452, "SETTING_CONSTRAINT_VIOLATION", message);
export const timedOut = (message: string): DatabaseError => new DatabaseError(159, "TIMEOUT_EXCEEDED", message);
export const badArguments = (message: string): DatabaseError => new DatabaseError(36, "BAD_ARGUMENTS", message);
export const notImplemented = (message: string): DatabaseError => new DatabaseError(48, "NOT_IMPLEMENTED", message);
export const tooManyQueries = (message: string): DatabaseError =>
  new DatabaseError(202, "TOO_MANY_SIMULTANEOUS_QUERIES", message);
export const authenticationFailed = (message: string): DatabaseError =>
  new DatabaseError(516, "AUTHENTICATION_FAILED", message);

// Codes that a server answers with something else than 500; the clients read the code, proxies and
// curl -f read the status.
const statuses: Readonly<Record<number, number>> = {
  6: 400,
  26: 400,
  27: 400,
  36: 400,
  38: 400,
  41: 400,
  43: 400,
  44: 400,
  46: 404,
  47: 404,
  48: 501,
  53: 400,
  60: 404,
  62: 400,
  72: 400,
  73: 404,
  81: 404,
  115: 404,
  117: 400,
  130: 400,
  131: 413,
  159: 408,
  164: 403,
  202: 503,
  203: 503,
  307: 400,
  394: 499,
  396: 400,
  452: 400,
  497: 403,
  516: 403,
};

export const httpStatus = (code: number): number => statuses[code] ?? 500;

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

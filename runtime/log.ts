// Structured logs: JSON lines, or coloured lines at a terminal. Secrets never reach a line.
import { pino, stdSerializers, type DestinationStream, type Logger } from "pino";
import { printable } from "../algorithms/text/printable.ts";
import { remedyOf } from "../connections/security/errors.ts";
import { prettyFactory } from "pino-pretty";

export interface LogOptions {
  level: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** Coloured lines for people; by default when the standard error is a terminal. */
  pretty?: boolean;
  /** Where lines go; the standard error by default, so that the output of commands stays clean. */
  destination?: DestinationStream;
  /** While true, coloured lines below a warning are left out. */
  muted?: () => boolean;
}

const secretNames = ["password", "passphrase", "apiKey", "token", "authorization", "secret", "clientSecret"];
// pino's redaction knows no "any depth": these are the depths at which our configuration and errors
// carry secrets.
const secretPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]);

/** An error, with what to do about it where a server has refused us. */
function withRemedy(error: Error): object {
  const remedy = remedyOf(error);
  return Object.assign(stdSerializers.err(error), remedy === undefined ? {} : { remedy });
}

/** Add { stage } and { requestId } by log.child(). */
export function createLog({ level, pretty, destination, muted = () => false }: LogOptions): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    redact: { paths: secretPaths, censor: "[secret]" },
    serializers: { err: withRemedy },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  if (pretty ?? (destination === undefined && process.stderr.isTTY)) {
    const prettify = prettyFactory({
      colorize: destination === undefined,
      ignore: "pid",
      translateTime: "SYS:HH:MM:ss.l",
    });
    const write = (line: string): void => {
      if (muted() && /^\{"level":"(?:trace|debug|info)"/.test(line)) return;
      const text = printable(prettify(line));
      if (destination === undefined) process.stderr.write(text);
      else destination.write(text);
    };
    return pino(options, { write });
  }
  return pino(options, withoutDoubles(destination ?? pino.destination({ dest: 2, sync: false })));
}

/** pino appends a record's members to the logger's bindings: the last value of a key counts. */
function withoutDoubles(destination: DestinationStream & { flushSync?: () => void }): DestinationStream {
  return {
    write: (line: string) => destination.write(`${JSON.stringify(JSON.parse(line))}\n`),
    ...(destination.flushSync !== undefined && { flushSync: () => destination.flushSync?.() }),
  };
}

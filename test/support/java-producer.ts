// Kafka's own client in a process of its own: what it sends is what most clients send.
import { spawn } from "node:child_process";
import { realpath } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stackFolder } from "../../stack/folder.ts";
import { kafkaClassPath } from "../../stack/install.ts";
import { testStack } from "./stack.ts";

export interface JavaRecord {
  partition: number;
  key?: Buffer | null;
  value?: Buffer | null;
  headers?: readonly (readonly [name: string, value: Buffer | null])[];
  /** Milliseconds since the epoch; now by default. */
  timestamp?: number;
  /** The value is repeated up to so many bytes. */
  repeated?: number;
}
export interface JavaSend {
  topic: string;
  codec: "none" | "gzip" | "snappy" | "lz4" | "zstd";
  end: "plain" | "idempotent" | "commit" | "abort";
  records: readonly JavaRecord[];
}
export interface JavaProducer {
  /** By record: its offset, or the error. Sends after each other. */
  send(send: JavaSend): Promise<(number | string)[]>;
  stop(): Promise<void>;
}

const base64 = (bytes: Buffer | null | undefined): string | null => bytes?.toString("base64") ?? null;
const program = fileURLToPath(new URL("JavaProducer.java", import.meta.url));

export async function startJavaProducer(heap = "512m"): Promise<JavaProducer> {
  const { folder, brokers } = testStack();
  const classPath = await kafkaClassPath(await realpath(stackFolder(folder).servers));
  const options = [`-Xmx${heap}`, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];
  const logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off";
  const child = spawn("java", [...options, logging, "-cp", classPath, program, brokers[0]!], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let last: Promise<unknown> = Promise.resolve();
  const tell = async ({ records, ...send }: JavaSend): Promise<(number | string)[]> => {
    const told = records.map(({ key, value, headers = [], ...rest }) => ({
      ...rest,
      ...{ key: base64(key), value: base64(value) },
      headers: headers.map(([name, bytes]) => [name, base64(bytes)]),
    }));
    child.stdin.write(`${JSON.stringify({ ...send, records: told })}\n`);
    const { value: line } = (await lines.next()) as { value?: string };
    const answer = JSON.parse(line ?? '"the Java client has ended"') as (number | string)[] | string;
    if (typeof answer === "string") throw new Error(answer);
    return answer;
  };
  return {
    send(send) {
      const next = last.then(() => tell(send));
      last = next.catch(() => undefined);
      return next;
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

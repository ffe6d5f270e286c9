import { describe, expect, it } from "vitest";
import { createLog } from "./log.ts";

function collect(): { lines: string[]; write(line: string): void } {
  const lines: string[] = [];
  return { lines, write: (line) => lines.push(line) };
}

describe("log", () => {
  it("writes JSON with stage and request id from child loggers", () => {
    const destination = collect();
    const log = createLog({ level: "info", destination });
    log.child({ stage: "plan" }).child({ requestId: "r-1" }).info({ partition: 3 }, "planned");
    const line: unknown = JSON.parse(destination.lines[0] ?? "");
    expect(line).toMatchObject({ level: "info", stage: "plan", requestId: "r-1", partition: 3, msg: "planned" });
  });

  it("writes each key once, with the value of the record", () => {
    const destination = collect();
    const log = createLog({ level: "info", destination }).child({ stage: "plan", worker: "text" });
    log.child({ stage: "generate" }).info({ worker: "embedder", pid: 1 }, "lost");
    const [line = ""] = destination.lines;
    for (const key of ["stage", "worker", "pid"]) expect(line.split(`"${key}":`)).toHaveLength(2);
    expect(JSON.parse(line)).toMatchObject({ stage: "generate", worker: "embedder", pid: 1 });
    expect(line.endsWith("}\n")).toBe(true);
  });

  it("never writes a secret, at the depths where the configuration has them", () => {
    const destination = collect();
    const log = createLog({ level: "info", destination });
    log.info(
      {
        password: "hush-1",
        kafka: { sasl: { password: "hush-2" } },
        config: { arms: [{ name: "large", apiKey: "hush-3" }], registry: { password: "hush-4" } },
        headers: { authorization: "hush-5" },
      },
      "configured",
    );
    expect(destination.lines.join("")).not.toContain("hush");
    expect(destination.lines.join("")).toContain("[secret]");
  });

  it("leaves out what is below the level", () => {
    const destination = collect();
    createLog({ level: "warn", destination }).info("quiet");
    expect(destination.lines).toEqual([]);
  });

  it("writes plain lines for people", () => {
    const destination = collect();
    createLog({ level: "info", destination, pretty: true }).info("hello");
    expect(destination.lines.join("")).toMatch(/INFO.*hello/);
  });
});

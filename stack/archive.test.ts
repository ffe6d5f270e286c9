import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { classArchive } from "./archive.ts";

let servers: string;
beforeEach(async () => {
  servers = await mkdtemp(join(tmpdir(), "precedent-archive-"));
  await mkdir(join(servers, "bin"));
  await writeFile(join(servers, "bin", "java"), "");
  vi.stubEnv("PATH", join(servers, "bin"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(servers, { recursive: true, force: true });
});

/** What java does at its end. */
async function writeDraft(options: string[]): Promise<void> {
  const draft = options[0]?.replace("-XX:ArchiveClassesAtExit=", "") ?? "";
  await writeFile(draft, "classes");
}
const kept = (): Promise<string[]> => readdir(join(servers, "archives"));

describe("classArchive", () => {
  it("is written by the first clean end and used from then on", async () => {
    const first = await classArchive(servers, "kafka", ["-Xmx1m"]);
    await writeDraft(first.options);
    await first.keep(true);
    expect(await kept()).toEqual([expect.stringMatching(/^kafka-[0-9a-f]{12}\.jsa$/)]);
    const second = await classArchive(servers, "kafka", ["-Xmx1m"]);
    expect(second.options[0]).toBe(`-XX:SharedArchiveFile=${join(servers, "archives", (await kept())[0] ?? "")}`);
    await second.keep(true);
    expect(await kept()).toHaveLength(1);
  });

  it("does not keep what a killed server left", async () => {
    const archive = await classArchive(servers, "kafka", []);
    await writeDraft(archive.options);
    await archive.keep(false);
    expect(await kept()).toEqual([]);
    await archive.keep(true);
    expect(await kept()).toEqual([]);
  });

  it("is another one for other options or another java", async () => {
    const names = new Set<string | undefined>();
    names.add((await classArchive(servers, "kafka", ["a"])).options[0]);
    names.add((await classArchive(servers, "kafka", ["b"])).options[0]);
    await utimes(join(servers, "bin", "java"), 1, 1);
    names.add((await classArchive(servers, "kafka", ["a"])).options[0]);
    expect(names.size).toBe(3);
  });

  it("clears away the drafts of killed stacks, and no other", async () => {
    await mkdir(join(servers, "archives"));
    await writeFile(join(servers, "archives", `kafka-0.jsa.${2 ** 22 + 1}.draft`), "");
    await writeFile(join(servers, "archives", `kafka-0.jsa.${process.ppid}.draft`), "");
    await classArchive(servers, "kafka", []);
    expect(await kept()).toEqual([`kafka-0.jsa.${process.ppid}.draft`]);
  });

  it("does without when nothing can be written or there is no java", async () => {
    await writeFile(join(servers, "archives"), "a file where the folder should be");
    expect((await classArchive(servers, "kafka", [])).options).toEqual([]);
    vi.stubEnv("PATH", "");
    expect((await classArchive(servers, "kafka", [])).options).toEqual([]);
  });
});

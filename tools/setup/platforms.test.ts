// Platform packages are those of the versions that go together, and the stand-in is what it says.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { expect, it } from "vitest";
import { llamaSources } from "./models/llama-library.ts";

const require = createRequire(import.meta.url);
interface Packages {
  optionalDependencies: Record<string, string>;
  version: string;
}
const read = async (file: string): Promise<Packages> =>
  JSON.parse(await readFile(new URL(`../../${file}`, import.meta.url), "utf8")) as Packages;

it("the prebuilt llama.cpp is of the version of its headers", async () => {
  const { optionalDependencies } = await read("package.json");
  const { version } = await llamaSources();
  for (const platform of ["linux-x64", "linux-arm64"])
    expect(optionalDependencies[`@node-llama-cpp/${platform}`]).toBe(version);
});

it("what stands in for chdb's other platforms has their version, and says so when it is loaded", async () => {
  const wanted = (await read("node_modules/chdb/package.json")).optionalDependencies;
  const { optionalDependencies } = await read("package.json");
  const { version } = await read("tools/stand-ins/unused-platform/package.json");
  const standIns = Object.entries(optionalDependencies).filter(
    ([, spec]) => spec === "file:tools/stand-ins/unused-platform",
  );
  expect(standIns.map(([name]) => name)).toEqual(Object.keys(wanted).filter((name) => !name.includes("linux-x64")));
  for (const [name] of standIns) {
    expect(wanted[name]).toBe(version);
    expect(() => require(name) as unknown).toThrow("set clickhouse.url");
  }
});

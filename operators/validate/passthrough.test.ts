import { expect, it } from "vitest";
import { passthroughProblem } from "./passthrough.ts";

const problem = (members: object | null, requires: string[] = [], documents: string[] = []) =>
  passthroughProblem({ passthrough: members && JSON.stringify(members), requires, documents });

it("lets through what can be read, with all that it requires said", () => {
  expect(problem(null)).toBeNull();
  expect(problem({ tools: [] }, ["tools"])).toBeNull();
  expect(problem({ tools: [] }, ["vision", "tools"])).toBeNull();
});

it("says what is wrong: a requirement left out, or without a passthrough; documents beside messages", () => {
  expect(problem({ tools: [], logprobs: true }, ["tools"])).toContain("lacks parameters");
  expect(problem(null, ["tools"])).toContain("there is none");
  expect(problem({ model: "x" }, ["parameters"])).toContain("model");
  const messages = [{ role: "user", content: "x", name: "y" }];
  expect(problem({ messages }, ["parameters"], ["d1"])).toContain("documents");
  expect(problem({ logprobs: true }, ["parameters"], ["d1"])).toBeNull();
});

import { describe, expect, it } from "vitest";
import { ConfigError, parseConfig } from "./load.ts";
import { streamingTenantsOf, tenantsOf } from "./tenants.ts";

const arms = "arms: [{ name: small, type: llama }]";
const parse = (text: string) => parseConfig(text, { source: "precedent.yaml", folder: "/etc", environment: {} });
function problemsIn(tenants: string, more = ""): string {
  try {
    parse(`tenants: ${tenants}\n${more}\n${arms}`);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.join("\n");
    throw error;
  }
  return "";
}

describe("tenants", () => {
  it("are none by default, and need no principal", () => {
    expect(tenantsOf(parse(arms))).toEqual([]);
    const config = parse(
      `tenants: { acme: { principal: "User:CN=acme,O=Acme Inc", deltas: true }, beta_2: {} }\n${arms}`,
    );
    expect(config.tenants).toEqual({
      acme: { principal: "User:CN=acme,O=Acme Inc", deltas: true },
      beta_2: { deltas: false },
    });
    expect([tenantsOf(config), streamingTenantsOf(config)]).toEqual([["acme", "beta_2"], ["acme"]]);
  });

  it.each(["a.b", "'a b'", "'-a'", "''", "'a/b'", "'*'", "é", "a".repeat(65)])(
    "are refused where the name %s can't be in a topic's, or not plainly",
    (name) => {
      expect(problemsIn(`{ ${name}: {} }`)).toMatch(/can't be part of a topic's name: letters, digits/);
    },
  );

  it("are refused where one could be taken for another", () => {
    expect(problemsIn("{ acme: {}, Acme: {} }")).toMatch(/tenants\.Acme: differs from "acme" in capitals alone/);
    expect(problemsIn("{ acme: { principal: User:a }, beta: { principal: User:a } }")).toMatch(
      /tenants\.beta\.principal: User:a is the principal of "acme" already/,
    );
  });

  it("are refused if a principal is anonymous, a wildcard, or unsafe in a shell", () => {
    expect(problemsIn("{ acme: { principal: 'User:*' } }")).toMatch(/is everybody: name one principal/);
    for (const principal of ["acme", "'User:'", "'User:a\"b'", "'User:$(id)'", "'User:`id`'", "'User:a\\b'"])
      expect([principal, problemsIn(`{ acme: { principal: ${principal} } }`)]).toEqual([
        principal,
        expect.stringMatching(/tenants\.acme\.principal: wrong form/),
      ]);
  });

  it("are refused where the names of their topics are too long for Kafka, or they are too many", () => {
    expect(problemsIn("{ acme: {} }", `kafka: { prefix: ${"p".repeat(240)} }`)).toMatch(/more than 249 characters/);
    const many = Array.from({ length: 1_001 }, (_, i) => `t${i}: {}`).join(", ");
    expect(problemsIn(`{ ${many} }`)).toMatch(/there are 1001, and 1000 may have topics/);
  });
});

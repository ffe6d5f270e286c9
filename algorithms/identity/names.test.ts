import fc from "fast-check";
import { expect, it } from "vitest";
import { isTooLong, metadataBytes, nameBytes, nameProblem, shortName } from "./names.ts";

it("a name of 256 bytes stays, a longer one becomes a short one of its own", () => {
  for (const name of ["", "r1", "x".repeat(256), "é".repeat(128)]) expect(shortName(name)).toBe(name);
  for (const name of ["x".repeat(257), "é".repeat(129)]) expect(shortName(name)).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(shortName("x".repeat(300))).not.toBe(shortName("x".repeat(301)));
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
      expect(isTooLong(name)).toBe(Buffer.byteLength(name) > nameBytes);
      expect(Buffer.byteLength(shortName(name))).toBeLessThanOrEqual(nameBytes);
      expect(shortName(shortName(name))).toBe(shortName(name));
    }),
  );
});

it("says which names are too long, and by how much", () => {
  expect(nameProblem({ id: "r1", tenant: "t", domain: null })).toBeNull();
  expect(nameProblem({ id: "x".repeat(300), tenant: "t", domain: "é".repeat(200) })).toBe(
    "id has 300 bytes, domain has 400 bytes, and a name may have 256.",
  );
});

it("metadata is measured with its keys", () => {
  expect(metadataBytes({ team: "ops", é: "" })).toBe(9);
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chunkKey, everybody } from "./keys.ts";

const domain = fc.oneof(fc.constant(everybody), fc.string());
const tokens = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 });

describe("keys of chunk caches", () => {
  it("differ wherever sharing domain or tokens differ, and nowhere else", () => {
    fc.assert(
      fc.property(domain, tokens, domain, tokens, (one, some, other, more) => {
        const isSame = one === other && some.join() === more.join();
        expect(chunkKey("f", one, some) === chunkKey("f", other, more)).toBe(isSame);
      }),
    );
  });
});

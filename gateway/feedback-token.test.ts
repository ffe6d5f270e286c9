import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFeedbackTokens, isFeedbackToken } from "./feedback-token.ts";
import { parseKey } from "./keys/key.ts";

const secret = "a secret of this deployment alone";
const time = { now: 1_000 };
const tokens = createFeedbackTokens({ secret, lifeMs: 60_000, now: () => time.now });
const allowed = { tenant: "acme", requestId: "r1", keyId: "prk-1" };
const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 });

describe("a feedback token", () => {
  it("says whose request it is of, to every gateway with the secret, and is no key", () => {
    const another = createFeedbackTokens({ secret, lifeMs: 1, now: () => time.now });
    fc.assert(
      fc.property(name, name, fc.option(name), (tenant, requestId, keyId) => {
        const token = tokens.make({ tenant, requestId, keyId });
        expect(another.read(token)).toEqual({ tenant, requestId, keyId });
        expect(isFeedbackToken(token)).toBe(true);
        expect(parseKey(token)).toBeNull();
        // It goes into a header as it is.
        expect(token).toMatch(/^[\x21-\x7e]+$/);
      }),
    );
  });

  it("is none when any of its characters is another", () => {
    const token = tokens.make(allowed);
    for (let at = 0; at < token.length; at++)
      for (const other of ["A", "B", ".", "", "AA"]) {
        if (token[at] === other) continue;
        const forged = token.slice(0, at) + other + token.slice(at + 1);
        const read = tokens.read(forged);
        // The last character of a signature has two bits that say nothing.
        if (at < token.length - 1) expect(read, forged).toBeNull();
        else expect(read).toSatisfy((one) => one === null || JSON.stringify(one) === JSON.stringify(allowed));
      }
  });

  it("has the signature of what it says: that of another request, tenant or key fits no other", () => {
    const any = fc.record({ tenant: name, requestId: name, keyId: fc.option(name) });
    fc.assert(
      fc.property(any, any, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        const [reported = ""] = tokens.make(other).split(".");
        const [, signature = ""] = tokens.make(one).split(".");
        expect(tokens.read(`${reported}.${signature}`)).toBeNull();
      }),
    );
  });

  it("is none of another secret, and no arbitrary text is one", () => {
    const stranger = createFeedbackTokens({ secret: `${secret}.`, lifeMs: 60_000, now: () => time.now });
    expect(tokens.read(stranger.make(allowed))).toBeNull();
    fc.assert(fc.property(fc.string({ unit: "binary" }), (any) => tokens.read(any) === null));
    fc.assert(fc.property(fc.base64String(), (any) => tokens.read(`pft-${any}.${"A".repeat(43)}`) === null));
  });

  it("ends by the gateway's clock", () => {
    const token = tokens.make(allowed);
    time.now += 59_999;
    expect(tokens.read(token)).not.toBeNull();
    time.now++;
    expect(tokens.read(token)).toBeNull();
  });
});

import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { idOfKey, isSecret, newKey, parseHash, parseKey } from "./key.ts";

describe("a key", () => {
  it("has an id and a secret of 128 bits, of which only the SHA-256 is kept", () => {
    const { id, text, hash } = newKey();
    const parsed = parseKey(text);
    expect(parsed).toEqual({ id, secret: text.slice(id.length + 1) });
    expect(parsed?.secret).toMatch(/^[0-9a-f]{32}$/);
    expect(hash).toBe(createHash("sha256").update(parsed!.secret).digest("hex"));
    expect(idOfKey(text)).toBe(id);
    expect(idOfKey(id)).toBe(id);
  });

  it("is never the same twice", () => {
    const keys = Array.from({ length: 1_000 }, newKey);
    for (const part of ["id", "text", "hash"] as const) expect(new Set(keys.map((key) => key[part])).size).toBe(1_000);
  });

  it("is taken only as it was given", () => {
    const { text } = newKey();
    const others = ["", "none", ` ${text}`, `${text} `, `${text}\n`, text.slice(0, -1), `${text}0`, text.toUpperCase()];
    for (const other of [...others, text.replace(".", ""), "sk-123", "prk-000000000000."])
      expect(parseKey(other), other).toBeNull();
    fc.assert(fc.property(fc.string({ unit: "binary" }), (any) => parseKey(any) === null));
  });
});

describe("a secret", () => {
  const { text, hash } = newKey();
  const { secret } = parseKey(text)!;
  it("fits its own hash alone", () => {
    expect(isSecret(secret, parseHash(hash))).toBe(true);
    for (let at = 0; at < secret.length; at++) {
      const other = secret.slice(0, at) + (secret[at] === "0" ? "1" : "0") + secret.slice(at + 1);
      expect(isSecret(other, parseHash(hash))).toBe(false);
    }
  });
  it("never fits where there is no key", () => {
    expect(isSecret(secret, null)).toBe(false);
  });
  it("what is stored and no hash is none", () => {
    for (const broken of ["", "0", hash.slice(1), `${hash}0`, "g".repeat(64), hash.toUpperCase() + " "])
      expect(parseHash(broken)).toBeNull();
  });
});

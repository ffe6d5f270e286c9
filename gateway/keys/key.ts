// A key as its owner holds it, `prefix.secret`: the prefix is its id, the secret has 128 random
// bits. Only the secret's SHA-256 is stored; with so many bits nothing slower is needed.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { ApiKey } from "../../schemas/types.ts";

export interface KeyText {
  id: string;
  secret: string;
}

const mark = "prk-";
const pattern = new RegExp(`^(${mark}[0-9a-f]{12})\\.([0-9a-f]{32})$`);

export function newKey(): { id: string; text: string; hash: string } {
  const id = mark + randomBytes(6).toString("hex");
  const secret = randomBytes(16).toString("hex");
  return { id, text: `${id}.${secret}`, hash: hashOf(secret).toString("hex") };
}

/** null: it is no key. */
export function parseKey(text: string): KeyText | null {
  const [, id, secret] = pattern.exec(text) ?? [];
  return id === undefined || secret === undefined ? null : { id, secret };
}

export const idOfKey = (text: string): string => text.split(".", 1)[0] ?? "";

/** Under which its spending is counted, which a rotated key hands on. */
export const accountOf = ({ id, account }: Pick<ApiKey, "id" | "account">): string => account ?? id;

/** A stored hash as bytes; null: it is none. */
export function parseHash(hex: string): Buffer | null {
  return /^[0-9a-f]{64}$/.test(hex) ? Buffer.from(hex, "hex") : null;
}

/** hash: null for an unknown key, which takes as long as a wrong secret, wherever that differs. */
export function isSecret(secret: string, hash: Buffer | null): boolean {
  const same = timingSafeEqual(hashOf(secret), hash ?? nobody);
  return same && hash !== null;
}

const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();
const nobody = Buffer.alloc(32);

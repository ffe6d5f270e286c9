import { expect, it } from "vitest";
import { RegistryUnavailable, type Codec } from "../connections/registry/port.ts";
import { decodeWithRetries } from "./decode.ts";

const away = new RegistryUnavailable("down");
const unreadable = { ok: false, code: "undecodable", reason: "no magic" } as const;

/** Fails with each of these first. */
function codecFailing(...errors: Error[]): Pick<Codec, "decode"> {
  return {
    decode: () => {
      const error = errors.shift();
      return error === undefined ? Promise.resolve(unreadable) : Promise.reject(error);
    },
  };
}

it("tries again until the registry is there, and tells every failed attempt", async () => {
  const reported: Error[] = [];
  const options = { firstMs: 1, onWaiting: (cause: Error) => void reported.push(cause) };
  expect(await decodeWithRetries(codecFailing(away, away), "requests", Buffer.of(), options)).toEqual(unreadable);
  expect(reported).toEqual([away, away]);
});

it("is ended by its signal while it waits", async () => {
  const ended = new AbortController();
  const decoding = decodeWithRetries(codecFailing(away), "requests", Buffer.of(), {
    signal: ended.signal,
    firstMs: 3_600_000,
    onWaiting: () => ended.abort(),
  });
  await expect(decoding).rejects.toMatchObject({ name: "AbortError" });
});

it("does not repeat what is a bug", async () => {
  await expect(decodeWithRetries(codecFailing(new TypeError("bug")), "requests", Buffer.of())).rejects.toThrow("bug");
});

import { expect, it } from "vitest";
import { RegistryUnavailable } from "../connections/registry/port.ts";
import { untilAnswered } from "./first-answer.ts";

it("tries again while a server is away, and says so", async () => {
  let attempts = 0;
  const said: string[] = [];
  await untilAnswered(
    async () => {
      if (++attempts === 1) throw new RegistryUnavailable("it starts");
    },
    (line) => said.push(line),
  );
  expect([attempts, said]).toEqual([2, [expect.stringMatching(/^it starts: next try in .* s$/)]]);
});

it("rejects at once what no wait mends", async () => {
  const refused = Object.assign(new Error("Closed"), { retriable: true, cause: { code: "CERT_HAS_EXPIRED" } });
  await expect(
    untilAnswered(
      () => Promise.reject(refused),
      () => undefined,
    ),
  ).rejects.toBe(refused);
});

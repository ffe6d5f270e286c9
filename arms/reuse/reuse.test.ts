import { expect, it } from "vitest";
import { armRequest, aTurn } from "../request.testing.ts";
import { createReuseArm } from "./reuse.ts";

const arm = createReuseArm({ name: "reuse", concurrency: 8 });
const never = new AbortController().signal;

it("returns the example's answer unchanged, for free, with its source", async () => {
  const heard: string[] = [];
  const request = armRequest({
    pieces: [
      { kind: "example", id: "e", role: "user", text: "asked before" },
      { kind: "example", id: "e", role: "assistant", text: "answered before" },
      aTurn("asked now"),
    ],
  });
  expect(await arm.answer(request, never, (text) => heard.push(text))).toMatchObject({
    ...{ kind: "answer", text: "answered before", source: "reuse", cost: 0, attempts: 0 },
    usage: { prompt: 0, completion: 0, prefilled: 0 },
  });
  expect(heard).toEqual(["answered before"]);
});

it("fails without an example, and never gives a turn of the conversation", async () => {
  const pieces = [{ kind: "turn", id: null, role: "assistant", text: "earlier" } as const, aTurn("asked now")];
  expect(await arm.answer(armRequest({ pieces }), never)).toMatchObject({ kind: "failure", code: "not_recorded" });
});

it("makes no call that was cancelled", async () => {
  expect(await arm.answer(armRequest({ pieces: [] }), AbortSignal.abort())).toMatchObject({ code: "cancelled" });
});

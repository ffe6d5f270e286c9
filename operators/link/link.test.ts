import { expect, it } from "vitest";
import { aTaken } from "../call/values.testing.ts";
import { aContext } from "../values.testing.ts";
import { createLink } from "./link.ts";

const asking = (policy: string) => {
  const taken = aTaken();
  const request = { ...taken.record.request, metadata: { "link-policy": policy } };
  return { ...taken, record: { ...taken.record, request } };
};

it("passes the prompt on as it was composed", async () => {
  const taken = aTaken();
  expect(await createLink()(taken, aContext())).toEqual({
    kind: "ok",
    value: { ...taken, prompt: { pieces: taken.record.pieces } },
  });
});

it("has no logger made for requests that ask for nothing", async () => {
  const context = Object.defineProperty(aContext(), "log", {
    get: (): never => {
      throw new Error("a logger was made");
    },
  });
  expect((await createLink()(aTaken(), context)).kind).toBe("ok");
});

it("takes the policy that the request asks for, if it can be served", async () => {
  const policyOf = async (name: string) => {
    const outcome = await createLink()(asking(name), aContext());
    return outcome.kind === "ok" ? outcome.value.prompt.linkPolicy : outcome.kind;
  };
  expect(await policyOf("last-1+attnlink-4")).toBe("last-1+attnlink-4");
  expect(await policyOf("full")).toBe("full");
  expect(await policyOf("best")).toBeUndefined();
  for (const research of ["blend-15", "craft-0.5+gap", "random-10", "last-1+attended-5"])
    expect(await policyOf(research)).toBeUndefined();
});

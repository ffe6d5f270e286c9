import { describe, expect, it } from "vitest";
import { createCancels } from "./cancels.ts";

const never = (): AbortSignal => new AbortController().signal;
const call = (requestId: string, arrivedAt = 100, tenant = "a") => ({ tenant, requestId, arrivedAt });

describe("cancels", () => {
  it("end the call of that request and tenant, and no other", () => {
    const { apply, watch } = createCancels({ clock: () => 200 });
    const mine = watch(call("r1"), never());
    const other = watch(call("r2"), never());
    const foreign = watch(call("r1", 100, "b"), never());
    apply({ requestId: "r1", tenant: "a" }, 150);
    apply({ requestId: "unknown", tenant: "a" }, 150);
    expect([mine, other, foreign].map((one) => [one.isCancelled(), one.signal.aborted])).toEqual([
      [true, true],
      [false, false],
      [false, false],
    ]);
  });

  it("are known to a call that begins later, unless its request came after them", () => {
    const { apply, watch } = createCancels({ clock: () => 200 });
    apply({ requestId: "r1", tenant: "a" }, 150);
    expect(watch(call("r1"), never()).isCancelled()).toBe(true);
    expect(watch(call("r1", 151), never()).isCancelled()).toBe(false);
    const later = watch(call("r1", 151), never());
    apply({ requestId: "r1", tenant: "a" }, 152);
    expect(later.isCancelled()).toBe(true);
  });

  it("are forgotten after a while, and the oldest where there are too many", () => {
    let now = 200;
    const { apply, watch } = createCancels({ clock: () => now, retentionMs: 50, most: 2 });
    const isKnown = (id: string): boolean => watch(call(id), never()).isCancelled();
    for (const id of ["r1", "r2", "r3"]) apply({ requestId: id, tenant: "a" }, 190);
    expect(["r1", "r2", "r3"].map(isKnown)).toEqual([false, true, true]);
    now = 241;
    apply({ requestId: "old", tenant: "a" }, 190);
    apply({ requestId: "r4", tenant: "a" }, 241);
    expect(["r2", "r3", "old", "r4"].map((id) => watch(call(id), never()).isCancelled())).toEqual([
      ...[false, false, false, true],
    ]);
  });

  it("are told from the end of the stage, and leave nothing behind", () => {
    const { apply, watch } = createCancels({ clock: () => 200 });
    const stage = new AbortController();
    const watched = watch(call("r1"), stage.signal);
    stage.abort(new Error("lost"));
    expect([watched.signal.aborted, watched.isCancelled()]).toEqual([true, false]);
    watched.end();
    apply({ requestId: "r1", tenant: "a" }, 150);
    expect(watched.isCancelled()).toBe(false);
  });
});

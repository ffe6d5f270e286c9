import { expect, it } from "vitest";
import { type BuildItem, type BuildPrompt, createIdleBuild } from "./build.ts";

const signal = () => new AbortController().signal;

function anArm(
  ids: string[],
  { full = false, fails = [] as string[], documents = [] as string[], left = [] as number[] } = {},
) {
  const made: string[] = [];
  const waiting = documents.map((domain) => ({ domain, pieces: [] }));
  const state = { now: 0, ids, full, readings: 0, gone: [] as string[], unreadable: [] as string[] };
  const idle = createIdleBuild({
    agenda: {
      ids() {
        state.readings += 1;
        return Promise.resolve(state.ids.map((id) => ({ id, domain: "acme/geo" })));
      },
      item: ({ id, domain }) =>
        state.unreadable.includes(id)
          ? Promise.reject(new Error("no answer"))
          : Promise.resolve(
              state.gone.includes(id) ? null : { id, domain, examples: [{ id, request: id, response: id }] },
            ),
    },
    documents: {
      next() {
        const [one] = waiting;
        const done = (): void => void waiting.shift();
        return Promise.resolve(one === undefined ? null : { ...one, done });
      },
    },
    cached: () => Promise.resolve(["there"]),
    build(item: BuildItem | BuildPrompt, ending: AbortSignal) {
      const id = "id" in item ? item.id : item.domain;
      if (ending.aborted) return Promise.reject(new Error("cancelled"));
      if (fails.includes(id)) return Promise.reject(new Error("the template refuses it"));
      made.push(id);
      return Promise.resolve({ caches: 1, tokens: 10, full: state.full, left: left.shift() ?? 0 });
    },
    now: () => state.now,
  });
  return { idle, made, state };
}

it("makes what is not there, in the order of the agenda, and reads again after a minute", async () => {
  const { idle, made, state } = anArm(["b", "there", "a"]);
  expect(await idle.next(signal())).toBe(true);
  expect(await idle.next(signal())).toBe(false);
  expect(made).toEqual(["b", "a"]);
  state.ids = ["new", "b"];
  state.now = 59_999;
  expect(await idle.next(signal())).toBe(false);
  expect(state.readings).toBe(1);
  state.now = 60_000;
  expect(await idle.next(signal())).toBe(false);
  expect(made).toEqual(["b", "a", "new"]);
});

it("goes on with the same example after a request came in between", async () => {
  const { idle, made } = anArm(["a"]);
  await expect(idle.next(AbortSignal.abort())).rejects.toThrow();
  await idle.next(signal());
  expect(made).toEqual(["a"]);
});

it("leaves what fails or is gone, and does not try it again", async () => {
  const { idle, made, state } = anArm(["broken", "gone", "a"], { fails: ["broken"] });
  state.gone = ["gone"];
  for (let step = 0; step < 3; step++) await idle.next(signal());
  expect(made).toEqual(["a"]);
  state.now = 60_000;
  expect(await idle.next(signal())).toBe(false);
  expect(made).toEqual(["a"]);
});

it("loses nothing while examples can't be read, and leaves one that never can be", async () => {
  const { idle, made, state } = anArm(["bad", "a", "b"]);
  state.unreadable = ["bad", "a", "b"];
  for (let step = 0; step < 10; step++) expect(await idle.next(signal())).toBe(false);
  expect(state.readings).toBe(1);
  state.unreadable = ["bad"];
  for (state.now = 60_000; state.now <= 120_000; state.now += 60_000)
    for (let step = 0; step < 4; step++) await idle.next(signal());
  expect(made).toEqual(["a", "b"]);
});

it("lets go of a reading that hangs", async () => {
  const hanging = new Promise<never>(() => undefined);
  const agenda = { ids: () => hanging, item: () => hanging };
  const cached = () => Promise.resolve([]);
  const ending = new AbortController();
  const next = createIdleBuild({ agenda, cached, build: () => hanging }).next(ending.signal);
  setTimeout(() => ending.abort(), 10);
  await expect(next).rejects.toThrow();
});

it("goes on with what is left of a document, and leaves it where nothing comes of it", async () => {
  const { idle, made } = anArm([], { documents: ["acme/laws", "acme/prices"], left: [2, 1, 0, 1, 1] });
  for (let step = 0; step < 5; step++) expect(await idle.next(signal())).toBe(true);
  expect(await idle.next(signal())).toBe(false);
  expect(made).toEqual([...Array<string>(3).fill("acme/laws"), ...Array<string>(2).fill("acme/prices")]);
});

it("keeps a document that found no room for when there is some", async () => {
  const { idle, made, state } = anArm([], { documents: ["acme/laws"], left: [1, 1, 0], full: true });
  for (state.now = 0; state.now < 2_000_000; state.now += 600_000) {
    state.full = state.now < 1_200_000;
    await idle.next(signal());
  }
  expect(made).toHaveLength(3);
});

it("ends for ten minutes when the store is full", async () => {
  const { idle, made, state } = anArm(["a", "b"], { full: true });
  expect(await idle.next(signal())).toBe(false);
  state.now = 599_999;
  expect(await idle.next(signal())).toBe(false);
  state.now = 600_000;
  await idle.next(signal());
  expect(made).toEqual(["a", "b"]);
});

it("makes those of documents first, each until it is done", async () => {
  const { idle, made } = anArm(["a"], { documents: ["acme/laws", "acme/prices"], fails: ["acme/prices"] });
  await expect(idle.next(AbortSignal.abort())).rejects.toThrow();
  expect(await idle.next(signal())).toBe(true);
  expect(await idle.next(signal())).toBe(true);
  expect(await idle.next(signal())).toBe(false);
  expect(made).toEqual(["acme/laws", "a"]);
});

import { expect, test, vi } from "vitest";
import { waitForRivals, visibleRivals } from "./rivals.ts";
import { silent } from "./doubles.testing.ts";

const setUp = (...answers: (readonly string[] | undefined | Error)[]) => {
  const rivals = vi.fn(() => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer instanceof Error
      ? Promise.reject(answer)
      : Promise.resolve(answer === undefined ? answer : [...answer]);
  });
  return { rivals, options: { consumer: { rivals }, group: "g", instance: "one", log: silent, stopped: () => false } };
};

test("without a rival it goes on at once", async () => {
  const { rivals, options } = setUp([]);
  await waitForRivals(options, 1_000);
  expect(rivals).toHaveBeenCalledTimes(1);
});

test("one that was killed is waited for until the group has forgotten it", async () => {
  const { rivals, options } = setUp(["process 7"], ["process 7"], []);
  await waitForRivals(options, 10_000);
  expect(rivals).toHaveBeenCalledTimes(3);
});

test("one that lives is refused, by name", async () => {
  const { options } = setUp(["process 7 on host-a (/10.0.0.1)"]);
  await expect(waitForRivals(options, 50)).rejects.toThrow(
    'instance "one" is running in g already, as process 7 on host-a (/10.0.0.1): stop it, or give this process another',
  );
});

test("a broker that is away, or a group that is being reassigned, is asked again", async () => {
  const { rivals, options } = setUp(new Error("away"), undefined, ["process 7"]);
  expect(await visibleRivals(options)).toEqual(["process 7"]);
  expect(rivals).toHaveBeenCalledTimes(3);
});

test("a group that says nothing for long delays no other task", async () => {
  const { options } = setUp(undefined);
  expect(await visibleRivals(options)).toEqual([]);
});

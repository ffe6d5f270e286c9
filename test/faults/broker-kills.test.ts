// The broker is killed five times under load, with the real stages as processes: after every kill
// the system goes on within 30 s of the broker's return. `bench -- faults` does it fifty times and
// `npm run soak` mixes it with all other faults.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { check } from "./support/checks.ts";
import { recover, type Recovery } from "./support/recovery.ts";
import { createRig, type Rig } from "./support/rig.ts";
import { killServer } from "./support/servers.ts";

const kills = 5;
let rig: Rig;

beforeAll(async () => {
  const slots = (["plan", "generate", "record"] as const).map((stage) => ({ stage, instance: `${stage}-a` }));
  rig = await createRig({ slots, perSecond: 30 });
}, 240_000);
afterAll(() => rig.stop());

test("the broker is killed five times under load: every time all goes on", { timeout: 900_000 }, async () => {
  const recoveries: Recovery[] = [];
  for (let kill = 0; kill < kills; kill++) {
    await sleep(2_000);
    recoveries.push(await recover(rig, killServer("kafka")));
  }
  await rig.load.stop();
  const { violations, issued, lost, doubled } = await check(rig);
  console.log(
    JSON.stringify({ issued, recoveries: recoveries.map(({ lasted_s, recovery_s }) => ({ lasted_s, recovery_s })) }),
  );
  expect(recoveries.filter(({ stalled }) => stalled)).toEqual([]);
  expect({ lost, doubled, violations }).toEqual({ lost: 0, doubled: 0, violations: [] });
  expect(issued).toBeGreaterThan(300);
});

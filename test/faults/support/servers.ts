// Faults of the embedded servers: killed at once or kept away for a while, hung, their supervisor
// killed.
import { setTimeout as sleep } from "node:timers/promises";
import { attachStack } from "../../../stack/attach.ts";
import type { ServerName } from "../../../stack/server.ts";
import { withoutServer, withServerHung } from "../../support/servers.ts";
import type { Fault } from "./recovery.ts";

/** kill -9; the supervisor starts it again at once. */
export const killServer = (name: ServerName): Fault => ({
  name: `kill ${name}`,
  async run(rig) {
    const pid = await rig.pidOf(name);
    process.kill(pid, "SIGKILL");
    await rig.ready({ name, pid });
    return undefined;
  },
});

/** kill -9, and the supervisor is kept from starting it again for so long. */
export const keepAway = (name: ServerName, ms: number): Fault => ({
  name: `${name} away`,
  async run(rig) {
    await withoutServer(rig.folder, name, () => sleep(ms));
    return `away for ${ms} ms and a start`;
  },
});

/** Takes connections and answers nothing for so long. */
export const hangServer = (name: ServerName, ms: number): Fault => ({
  name: `${name} hangs`,
  async run(rig) {
    await withServerHung(rig.folder, name, () => sleep(ms));
    return `for ${ms} ms`;
  },
});

/** The servers go on without it; the next start ends them and starts all anew. */
export const killSupervisor: Fault = {
  name: "kill supervisor",
  async run(rig) {
    process.kill(await rig.pidOf("supervisor"), "SIGKILL");
    await sleep(2_000);
    await attachStack(rig.folder, { start: true });
    return "all servers started anew";
  },
};

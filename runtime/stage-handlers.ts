// What a stage does with joins (adoption), batches (schedule) and gaps (gap.ts).
import type { Logger } from "pino";
import type { GroupHandlers } from "../connections/kafka/port.ts";
import type { Adoption } from "./adoption.ts";
import type { CloseGap } from "./gap.ts";
import type { Lag } from "./lag.ts";
import type { Schedule } from "./schedule.ts";

export interface StageHandlerOptions {
  adoption: Adoption;
  schedule: Schedule;
  closeGap: CloseGap;
  onJoined: () => void;
  lag: Pick<Lag, "saw">;
  log: Logger;
}

export function stageHandlers(options: StageHandlerOptions): GroupHandlers {
  const { adoption, schedule, closeGap, onJoined, lag, log } = options;
  return {
    onJoin(member, partitions) {
      onJoined();
      log.info({ generation: member.generation, partitions: partitions.length }, "joined the group");
      adoption.join(member, partitions);
    },
    onBatch(topic, partition, records, { from, next }) {
      const state = adoption.state(topic, partition);
      if (state === undefined) return;
      if (from > state.window.next()) {
        void closeGap(state, from);
        return;
      }
      schedule.deliver(state, records, next);
    },
    onOutOfRange(topic, partition) {
      const state = adoption.state(topic, partition);
      if (state !== undefined) void closeGap(state);
    },
    onMarkers(topic, partition, first, next) {
      const state = adoption.state(topic, partition);
      if (state !== undefined && first <= state.window.next()) state.window.advanceTo(next);
    },
    onHighWatermark: lag.saw,
  };
}

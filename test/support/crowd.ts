// What the crowd's process (crowd-process.ts) is told and says, and what its streams ask and are
// answered.
export interface Crowd {
  asked: number;
  /** Were told 200. */
  begun: number;
  /** Have had a heartbeat. */
  beating: number;
  /** Have ended with their whole answer, once. */
  right: number;
  /** Refused with "STATUS CODE", how often. */
  refused: Record<string, number>;
  /** Of those that ended otherwise: how, the first few. */
  wrong: string[];
  wrongs: number;
}

export interface Order {
  open: { from: number; count: number };
}

export const question = "Say which stream this is.";
export const answerOf = (n: number): string => `This is stream ${n}, and this is all of its answer.`;

// Orders and reports of the crowd's process (crowd-process.ts), and its streams' requests and
// answers.
export interface Crowd {
  asked: number;
  /** Got status 200. */
  begun: number;
  /** Have had a heartbeat. */
  beating: number;
  /** Have ended with their whole answer, once. */
  right: number;
  /** Refused with "STATUS CODE", how often. */
  refused: Record<string, number>;
  /** How the first few others ended. */
  wrong: string[];
  wrongs: number;
}

export interface Order {
  open: { from: number; count: number };
}

export const question = "Say which stream this is.";
export const answerOf = (n: number): string => `This is stream ${n}, and this is all of its answer.`;

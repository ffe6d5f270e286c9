// A text that grows by pieces and may begin again: what of it may be sent. What was sent is never
// taken back; more is sent only while what came begins with it. Linear in the length of the pieces.
export interface PrefixGuard {
  /** What comes from now on is the beginning again. */
  restart(): void;
  add(piece: string): void;
  /** False: what came since the beginning is not what was sent. */
  agrees(): boolean;
  /** What may be sent now and counts as sent; "" if nothing. */
  next(): string;
  /** What is left of the whole; null: what was sent is not its beginning. */
  rest(whole: string): string | null;
}

export function createPrefixGuard(): PrefixGuard {
  let sent = "";
  let received = "";
  /** As far as both go. */
  let agrees = true;
  return {
    restart() {
      received = "";
      agrees = true;
    },
    add(piece) {
      if (received.length < sent.length) {
        const both = Math.min(sent.length - received.length, piece.length);
        agrees &&= sent.startsWith(piece.slice(0, both), received.length);
      }
      received += piece;
    },
    agrees: () => agrees,
    next() {
      if (!agrees || received.length <= sent.length) return "";
      const piece = received.slice(sent.length);
      sent = received;
      return piece;
    },
    rest: (whole) => (whole.startsWith(sent) ? whole.slice(sent.length) : null),
  };
}

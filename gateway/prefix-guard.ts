// A text that grows by pieces and may begin again: what of it may be sent. What was sent is never
// taken back; more is sent only while what came begins with it. Linear in the length of the pieces.
export type PrefixGuard = ReturnType<typeof createPrefixGuard>;

export function createPrefixGuard() {
  let sent = "";
  let received = "";
  /** As far as both go. */
  let agrees = true;
  return {
    /** What comes from now on is the beginning again. */
    restart(): void {
      received = "";
      agrees = true;
    },
    add(piece: string): void {
      if (received.length < sent.length) {
        const both = Math.min(sent.length - received.length, piece.length);
        agrees &&= sent.startsWith(piece.slice(0, both), received.length);
      }
      received += piece;
    },
    /** False: what came since the beginning is not what was sent. */
    agrees: (): boolean => agrees,
    /** What may be sent now and counts as sent; "" if nothing. */
    next(): string {
      if (!agrees || received.length <= sent.length) return "";
      const piece = received.slice(sent.length);
      sent = received;
      return piece;
    },
    /** What is left of the whole; null: what was sent is not its beginning. */
    rest: (whole: string): string | null => (whole.startsWith(sent) ? whole.slice(sent.length) : null),
  };
}

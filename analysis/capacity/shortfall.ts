// Why nothing can be planned from a log; the message says what to do.
export class Shortfall extends Error {
  override name = "Shortfall";
}

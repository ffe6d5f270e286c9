// In which mode the tests of kills and outages run their recorded arms: PRECEDENT_DISPATCH=inline
// has plan call them itself, as test/*-inline.test.ts do.
const asked = process.env.PRECEDENT_DISPATCH ?? "queued";
if (asked !== "queued" && asked !== "inline") throw new Error(`PRECEDENT_DISPATCH is "${asked}": use queued or inline`);

export const dispatch: "queued" | "inline" = asked;

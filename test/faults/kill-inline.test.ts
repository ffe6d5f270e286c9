// The test of kills (kill.test.ts) with arms that plan calls itself.
process.env.PRECEDENT_DISPATCH = "inline";
await import("./kill.test.ts");

// The test of outages (outage.test.ts) with arms that plan calls itself.
process.env.PRECEDENT_DISPATCH = "inline";
await import("./outage.test.ts");

// The test of cut connections (network.test.ts) with arms that plan calls itself.
process.env.PRECEDENT_DISPATCH = "inline";
await import("./network.test.ts");

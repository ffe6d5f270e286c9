import { knapsack } from "../../algorithms/selection/knapsack.ts";
import { describePolicy } from "../../algorithms/response-cache/policy-contract.testing.ts";
import { createGdsf, createLec1, createLecm, createLfu, createLru } from "./baselines.ts";
import { createVsocb } from "./vsocb.ts";

const horizon = { rounds: 400, queries: 12, solve: knapsack };
describePolicy("lec1", createLec1());
describePolicy("lecm", createLecm());
describePolicy("lru", createLru);
describePolicy("lfu", createLfu);
describePolicy("gdsf", createGdsf);
describePolicy("vsocb", (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 1 }));
describePolicy("vsocb_scaled", (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 0.01 }));
describePolicy("vsocb_means", (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 0 }));
describePolicy("vsocb_lazy", (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.1, scale: 0, lazy: true }));
// As printed, a call of the oracle drops the query that was just answered.
describePolicy(
  "vsocb_as_printed",
  (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 0, flushWorthless: true, dropAnswered: true }),
  { dropsAnswered: true },
);

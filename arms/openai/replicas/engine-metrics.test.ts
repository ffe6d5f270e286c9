import { expect, it } from "vitest";
import { engineLoadOf, engineUtilisation } from "./engine-metrics.ts";

it.each<[string, string, object | undefined]>([
  [
    "vLLM",
    `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 7.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:num_requests_waiting_by_reason{reason="capacity"} 2.0`,
    { running: 7, waiting: 2, cacheUsage: 0.25 },
  ],
  [
    "two engines of vLLM, an older name, a sample's time, CRLF",
    'vllm:num_requests_waiting{engine="0"} 1 1700000000000\r\nvllm:num_requests_waiting{engine="1"} 2e0\r\nvllm:gpu_cache_usage_perc{engine="0"} .5\r\nvllm:gpu_cache_usage_perc{engine="1"} .75',
    { running: null, waiting: 3, cacheUsage: 0.75 },
  ],
  [
    "SGLang",
    'sglang:num_running_reqs{model_name="m"} 3\nsglang:num_queue_reqs{model_name="m"} 4\nsglang:token_usage{model_name="m"} 0.28',
    { running: 3, waiting: 4, cacheUsage: 0.28 },
  ],
  [
    "llama-server",
    "llamacpp:requests_processing 1\nllamacpp:requests_deferred 5\n",
    { running: 1, waiting: 5, cacheUsage: null },
  ],
  ["TGI", "tgi_queue_size 0\ntgi_batch_current_size 9", { running: 9, waiting: 0, cacheUsage: null }],
  [
    "labels that quote anything",
    String.raw`vllm:num_requests_waiting{a="}\"\\ 9 ,{",b=""} 6`,
    { running: null, waiting: 6, cacheUsage: null },
  ],
  [
    "an underscore for the colon, spaces",
    'vllm_num_requests_waiting \t {x="y"}  6',
    { running: null, waiting: 6, cacheUsage: null },
  ],
  [
    "values that count nothing",
    "vllm:num_requests_waiting NaN\nvllm:num_requests_waiting -3\nvllm:num_requests_waiting +Inf\nvllm:num_requests_waiting x\nvllm:num_requests_waiting 1",
    { running: null, waiting: 1, cacheUsage: null },
  ],
  [
    "more than can be",
    "vllm:num_requests_waiting 1e300\nvllm:kv_cache_usage_perc 90",
    { running: null, waiting: 1_000_000, cacheUsage: 1 },
  ],
  ["no queue", "vllm:num_requests_running 3\nprocess_cpu_seconds_total 1", undefined],
  ["a comment", "# vllm:num_requests_waiting 3", undefined],
  ["a label left open", 'vllm:num_requests_waiting{a="b 3\nvllm:num_requests_waiting{a 3', undefined],
  ["a page", "<html>vllm:num_requests_waiting 3</html>", undefined],
  ["nothing", "", undefined],
])("%s", (_what, text, load) => expect(engineLoadOf(text)).toEqual(load));

it.each([
  'vllm:num_requests_waiting{a="',
  'vllm:num_requests_waiting{a="\\"',
  "vllm:num_requests_waiting{",
  "vllm:a \t ",
])("a megabyte of %j is read in linear time", (piece) => {
  for (const end of ["", "\n"]) expect(engineLoadOf((piece + end).repeat(1_000_000 / piece.length))).toBeUndefined();
});

it.each([
  [{ running: 8, waiting: 0, cacheUsage: 0.4 }, 0.4],
  [{ running: 8, waiting: 4, cacheUsage: 0.9 }, 1.5],
  [{ running: 0, waiting: 3, cacheUsage: null }, 4],
  [{ running: null, waiting: 0, cacheUsage: null }, 0],
])("%j is a utilisation of %d", (load, utilisation) => expect(engineUtilisation(load)).toBe(utilisation));

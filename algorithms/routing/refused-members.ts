// Members of a request's body that no arm is sent, in whatever format: on an engine that tenants
// share they harm other tenants or its host, or they cost what the arm's prices leave out. An
// operator sets what an engine needs in the arm's `body`. Pure; linear in the value.
import { isObject, listOf } from "../text/json-shape.ts";

/** Key: why. The comments say which engines and providers read them. */
const reasons: Readonly<Record<string, string>> = {
  // vLLM, SGLang, TensorRT-LLM, LiteLLM; Dynamo, whose nvext also chooses workers.
  "it may go before other tenants' requests": "priority strict_priority nvext",
  // llama-server; SGLang and vLLM with data parallelism.
  "it chooses the slot or worker of an engine": "id_slot slot_id data_parallel_rank routed_dp_rank",
  // vLLM and SGLang (prefill elsewhere), TensorRT-LLM, LMDeploy.
  "it says where an engine fetches or leaves a KV cache": `kv_transfer_params ec_transfer_params bootstrap_host bootstrap_port
    bootstrap_room disagg_prefill_dp_rank disaggregated_params migration_request with_cache preserve_cache`,
  // SGLang (session_params, rid, extra_key), vLLM, LMDeploy, TensorRT-LLM, Gemini, OpenRouter;
  // Anthropic's threads, which hold the conversation outside of the log.
  "it names a session, a request or a cache that may be another tenant's": `session_id session_params conversation_params rid
    request_id extra_key cached_content cachedContent uuid thread`,
  // SGLang, TensorRT-LLM (a path), llama-server, TGI and LoRAX, LMDeploy; Ollama; LM Studio.
  "it loads an adapter or a model, or loads it anew": `lora lora_path lora_request adapter_id adapter_source adapter_parameters
    merged_adapters adapter_name api_token draft_model ttl keep_alive num_ctx num_batch num_gpu main_gpu num_thread numa
    use_mmap use_mlock low_vram`,
  // SGLang (pickled code), vLLM (Jinja; backends that write to the disk), text-generation-webui.
  "the engine would run it": `custom_logit_processor chat_template tokenize chat_template_str instruction_template_str
    guided_decoding_backend`,
  // SGLang, vLLM, TensorRT-LLM.
  "it would replace the messages":
    "input_ids prompt_ids prompt_token_ids prompt_token_ids_b64 prompt_embeds input_embeds",
  // SGLang, TensorRT-LLM; Ollama.
  "the engine would hold large tensors or templates for it": `return_hidden_states return_routed_experts return_context_logits
    return_generation_logits _debug_render_only`,
  // LiteLLM; OpenRouter; Azure's search with the deployment's identity.
  "it would send the request elsewhere": `api_base base_url api_key api_version user_config model_list deployment_id
    custom_llm_provider litellm_params extra_headers mock_response no-log vertex_credentials aws_sts_endpoint aws_role_name
    aws_web_identity_token context_window_fallbacks content_policy_fallbacks fallbacks models preset data_sources
    dataSources`,
  // OpenAI, xAI, OpenRouter, Qwen, Groq: searches and tools of the provider, or other providers.
  "the arm's prices leave out what it may cost": `web_search_options search_parameters enable_search search_options
    enable_code_interpreter compound_custom plugins provider`,
  // Other names of the longest answer, and more answers than one.
  "its cost would have no bound": `max_output_tokens max_new_tokens max_tokens_to_sample n_predict num_predict best_of n_cmpl
    num_return_sequences candidate_count use_beam_search`,
};
const refused = new Map(
  Object.entries(reasons).flatMap(([why, names]) => names.split(/\s+/).map((name) => [name, why] as const)),
);

/** Members in which engines and proxies read further ones. */
const containers = new Set(["extra_body", "google", "vllm_xargs", "options", "parameters", "chat_template_kwargs"]);
const mostNested = 4;

/** Log probabilities a token: llama-server sorts its vocabulary for more, and all slots wait. */
const mostProbabilities = 20;
const probabilities = new Set(["logprobs", "top_logprobs", "prompt_logprobs", "n_probs"]);

interface RefusedMember {
  /** Where in the body. */
  path: string;
  /** Words for a sentence. */
  why: string;
}

/** isNative: of Anthropic's format, whose providers' tools have prices. null: it may pass. */
export function refusedMember(name: string, value: unknown, isNative = false, depth = 0): RefusedMember | null {
  if (value === null || value === undefined) return null;
  const why = refused.get(name);
  if (why !== undefined) return { path: name, why };
  if (probabilities.has(name) && typeof value === "number" && !(value >= 0 && value <= mostProbabilities))
    return { path: name, why: `more than ${mostProbabilities} log probabilities a token hold up the engine` };
  if (name === "tools" && Array.isArray(value)) return refusedTool(value, isNative);
  if (!containers.has(name) || !isObject(value)) return null;
  if (depth === mostNested) return { path: name, why: "it is nested too deeply" };
  for (const [inner, of] of Object.entries(value)) {
    const found = refusedMember(inner, of, isNative, depth + 1);
    if (found !== null) return { ...found, path: `${name}.${found.path}` };
  }
  return null;
}

type Json = Readonly<Record<string, unknown>>;

/** The first such member of a body, or of a part of its messages. */
function refusedIn(body: Json, isNative = false): RefusedMember | null {
  for (const [name, value] of Object.entries(body)) {
    const found = refusedMember(name, value, isNative);
    if (found !== null) return found;
  }
  return null;
}

/** The first such member of a body of Anthropic's format. */
export const refusedNatively = (body: Json): RefusedMember | null => refusedIn(body, true) ?? localSource(body);

function localSource({ messages }: Json): RefusedMember | null {
  for (const [at, turn] of listOf(messages).entries())
    for (const [index, block] of listOf(isObject(turn) ? turn["content"] : []).entries()) {
      const blocks = isObject(block) ? [block, ...listOf(block["content"])] : [];
      const isLocal = blocks.some(
        (one) => isObject(one) && isObject(one["source"]) && isLocalUrl(one["source"]["url"]),
      );
      if (isLocal) return { path: `messages[${at}].content[${index}].source.url`, why: ofFiles };
    }
  return null;
}

/** A part with an image, as chat completions have it. */
export function refusedImage(part: Json): RefusedMember | null {
  const { image_url: image } = part;
  const url = isObject(image) ? image["url"] : image;
  return isLocalUrl(url) ? { path: "image_url", why: ofFiles } : refusedIn(part);
}

/** Engines on the operator's hosts read files, too. */
const isLocalUrl = (url: unknown): boolean => typeof url === "string" && !/^(https?:\/\/|data:)/i.test(url);
const ofFiles = "images are of the web (http, https) or in the request (data)";

/** A tool that the provider runs, at a price that no arm has. */
function refusedTool(tools: readonly unknown[], isNative: boolean): RefusedMember | null {
  const at = tools.findIndex((tool) => {
    if (!isObject(tool)) return false;
    const { type, function: called, model } = tool;
    // Anthropic's advisor is another model.
    if (isNative) return (model ?? null) !== null || (typeof type === "string" && type.startsWith("advisor"));
    return typeof type === "string"
      ? type !== "function" && type !== "custom"
      : called === undefined && Object.keys(tool).length > 0;
  });
  return at < 0 ? null : { path: `tools[${at}]`, why: "the arm's prices leave out what this tool may cost" };
}

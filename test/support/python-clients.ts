// Python with the clients that tests use, in the cache of the user, made once.
import { join } from "node:path";
import { cacheFolder } from "../../config/assets.ts";
import { pythonWith } from "../../connections/python/python.ts";

/** OpenAI's and Anthropic's clients, LiteLLM and LangChain. */
export const pythonClients = (): Promise<string> =>
  pythonWith(
    ["openai", "litellm", "langchain_openai", "mcp.types", "agents", "anthropic", "langchain_anthropic"],
    [
      "openai==2.54.0",
      "openai-agents==0.20.0",
      "litellm==1.106.2",
      "langchain-openai==1.7.3",
      "langchain-core==1.8.3",
      "anthropic==2.14.0",
      "langchain-anthropic==1.7.10",
      // LiteLLM imports it as soon as there are tools, and does not ask for it.
      "mcp==2.3.0",
    ],
    join(cacheFolder(), "gateway-clients"),
    () => undefined,
  );

export const pythonLlamaIndex = (): Promise<string> =>
  pythonWith(
    ["llama_index.llms.openai_like"],
    ["llama-index-llms-openai-like==0.8.1"],
    join(cacheFolder(), "gateway-client-llamaindex"),
    () => undefined,
  );

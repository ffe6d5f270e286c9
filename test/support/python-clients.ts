// Python with the clients that tests use, in the cache of the user, made once.
import { join } from "node:path";
import { cacheFolder } from "../../config/assets.ts";
import { pythonWith } from "../../connections/python/python.ts";

/** OpenAI's client, LiteLLM and LangChain. */
export const pythonClients = (): Promise<string> =>
  pythonWith(
    ["openai", "litellm", "langchain_openai", "mcp.types"],
    [
      "openai==2.54.0",
      "litellm==1.106.2",
      "langchain-openai==1.7.3",
      "langchain-core==1.7.2",
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

# LlamaIndex against three odd endpoints behind the gateway. Prints what it understood.
import json
import os

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model="lab",
    api_base=os.environ["BASE_URL"],
    api_key="none",
    max_retries=0,
    is_chat_model=True,
    is_function_calling_model=True,
    additional_kwargs={"extra_body": {"precedent": {"privacy": {"cache": False}}}},
)


def asked(name, **more):
    return list(llm.stream_chat([ChatMessage(role="user", content=f"[[{name}]]")], **more))[-1]


f = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
whole = llm.chat([ChatMessage(role="user", content="[[choicesnull]]")]).raw
calls = asked("tools-dupindex", tools=[f]).message.additional_kwargs["tool_calls"]
print(
    json.dumps(
        {
            "text": asked("surrogate").message.content,
            "tokens": [whole.usage.prompt_tokens, whole.usage.completion_tokens],
            "calls": [[call.id, call.function.name, json.loads(call.function.arguments)] for call in calls],
        }
    )
)

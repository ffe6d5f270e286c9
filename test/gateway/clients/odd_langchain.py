# LangChain against three odd endpoints behind the gateway. Prints what it understood.
import json
import os

from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

chat = ChatOpenAI(
    model="lab",
    base_url=os.environ["BASE_URL"],
    api_key="none",
    max_retries=0,
    stream_usage=True,
    extra_body={"precedent": {"privacy": {"cache": False}}},
)


def asked(model, name):
    pieces = list(model.stream([HumanMessage(f"[[{name}]]")]))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return whole


f = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
half = asked(chat, "surrogate")
usage = asked(chat, "choicesnull").usage_metadata
calls = asked(chat.bind(tools=[f]), "tools-dupindex").tool_calls
print(
    json.dumps(
        {
            "text": half.content,
            "tokens": [usage["input_tokens"], usage["output_tokens"]],
            "calls": [[call["id"], call["name"], call["args"]] for call in calls],
        }
    )
)

"""A remote agent of a few lines, without any library: `python far_agent.py BEHAVIOUR LOG`.

What it hears goes to LOG, one message a line.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

behaviour, log = sys.argv[1], Path(sys.argv[2])
next_id = 100


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    with log.open("a") as file:
        file.write(line)
    return json.loads(line)


def tell(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(text):
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    tell(method="session/update", params={"sessionId": "s", "update": content})


def ask(method, **params):
    tell(id=next_id, method=method, params={"sessionId": "s", **params})
    while True:
        answer = hear()
        if answer.get("id") == next_id and "method" not in answer:
            return answer


def permission(title="rm -rf"):
    options = [
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Once", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    call = {"toolCallId": "t", "title": title, "rawInput": {"path": "/"}}
    answer = ask("session/request_permission", options=options, toolCall=call)
    return answer["result"]["outcome"]


def until_cancelled():
    while hear().get("method") != "session/cancel":
        pass


def prompted(request):
    stop_reason = "end_turn"
    match behaviour:
        case "answers":
            say("I was asked: ")
            say(request["params"]["prompt"][0]["text"])
        case "waits":
            say("I am thinking")
            until_cancelled()
            say(" no more.")
            stop_reason = "cancelled"
        case "is deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            say("What?")
            Path("pids").write_text(f"{os.getpid()} {child.pid}")
            time.sleep(60)
        case "dies":
            say("Oh")
            os._exit(3)
        case "asks permission":
            say(json.dumps(permission()))
        case "asks for files and terminals":
            asked = [
                ask("fs/read_text_file", path="/etc/passwd"),
                ask("fs/write_text_file", path="/x", content="x"),
                ask("terminal/create", command="sh"),
                ask("terminal/output", terminalId="t"),
                ask("terminal/release", terminalId="t"),
                ask("terminal/wait_for_exit", terminalId="t"),
                ask("terminal/kill", terminalId="t"),
            ]
            say(json.dumps([answer["error"] for answer in asked]))
        case "errs":
            return tell(id=request["id"], error={"code": -32603, "message": "No model today"})
        case "talks nonsense":
            sys.stdout.write("5\n")
            return sys.stdout.flush()
        case "cancels by itself":
            stop_reason = "cancelled"
        case other:
            stop_reason = other
    usage = {"totalTokens": 7, "inputTokens": 5, "outputTokens": 2}
    return tell(id=request["id"], result={"stopReason": stop_reason, "usage": usage})


while True:
    request = hear()
    match request.get("method"):
        case "initialize":
            if behaviour == "never begins":
                time.sleep(60)
            tell(id=request["id"], result={"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []})
        case "session/new":
            tell(id=request["id"], result={"sessionId": "s"})
        case "session/prompt":
            prompted(request)

# Opens streams and reads them slowly: a small receive buffer and small segments, set before the
# connection is made, so that the sender's socket is full soon; of each socket a little at a time.
# Arguments: port, path, readers, bytes a read, milliseconds between two rounds; with one more, questions,
# they post one of so many to the model "slow", each with the Idempotency-Key of its question, and
# read nothing until standard input ends. Prints one line as JSON when all have ended: how many got
# the end of their answer, how many were disconnected before, and others.
import json
import select
import socket
import sys
import time

port, readers, size, pause = (int(sys.argv[i]) for i in (1, 3, 4, 5))
questions = int(sys.argv[6]) if len(sys.argv) > 6 else 0


def request_of(reader: int) -> bytes:
    common = f" {sys.argv[2]} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    if questions == 0:
        return f"GET{common}\r\n".encode()
    which = reader % questions
    messages = [{"role": "user", "content": f"question {which}"}]
    body = json.dumps({"model": "slow", "stream": True, "messages": messages})
    head = f"Content-Type: application/json\r\nIdempotency-Key: slow-{which}\r\nContent-Length: {len(body)}\r\n"
    return f"POST{common}{head}\r\n{body}".encode()


poll = select.epoll()
open_sockets = {}
counts = {"whole": 0, "cut": 0, "other": 0, "bytes": 0}

for reader in range(readers):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    # By default the loopback's segments are so large that the kernel takes megabytes for the sender.
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    one.connect(("127.0.0.1", port))
    one.sendall(request_of(reader))
    one.setblocking(False)
    poll.register(one.fileno(), select.EPOLLIN)
    # What it began with, and what it ended with so far.
    open_sockets[one.fileno()] = [one, b"", b""]
# None reads anything before all have something to read, for then they leave most.
waiting = set(open_sockets)
while waiting:
    waiting.difference_update(number for number, _ in poll.poll(1))
    time.sleep(0.05)
if questions > 0:
    sys.stdin.read()


def end(number: int) -> None:
    one, head, tail = open_sockets.pop(number)
    poll.unregister(number)
    one.close()
    # One that is disconnected before its first byte has no head.
    if head and not head.startswith(b"HTTP/1.1 200"):
        counts["other"] += 1
    elif tail.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"):
        counts["whole"] += 1
    else:
        counts["cut"] += 1


while open_sockets:
    for number, _ in poll.poll(1):
        entry = open_sockets[number]
        try:
            data = entry[0].recv(size)
        except BlockingIOError:
            continue
        except ConnectionError:
            data = b""
        if not data:
            end(number)
            continue
        counts["bytes"] += len(data)
        entry[1] = (entry[1] + data)[:64] if len(entry[1]) < 64 else entry[1]
        entry[2] = (entry[2] + data)[-64:]
    time.sleep(pause / 1000)
print(json.dumps(counts), flush=True)

// kafkajs 2.2.4 has one Connection object for all successive sockets to a broker, and mixes them
// up. Late events of a former socket end the requests of its successor: a client that reconnects at
// once has its new connection cut by the old one's FIN, reconnects, and so on for as long as a busy
// broker closes sockets late. Also, the first half of a response that was cut off is put before the
// responses of the next connection, none of which can be parsed until the process ends. Here a
// connection drops its former socket, and the bytes received from it, before it opens another; and
// it opens one at a time.
import { internals, type ConnectionLike } from "./kafkajs-internals.ts";

/** Bytes of a length, which every answer begins with. */
const lengthBytes = 4;

function forgetFormer(connection: ConnectionLike): void {
  const former = connection.socket;
  connection.chunks = [];
  connection.bytesBuffered = 0;
  connection.bytesNeeded = lengthBytes;
  if (former === undefined) return;
  delete connection.socket;
  // A socket that was still connecting would emit these later.
  for (const event of ["connect", "secureConnect", "data", "end", "timeout", "error"]) former.removeAllListeners(event);
  former.on("error", () => undefined); // an error without a listener ends the process
  former.destroy();
}

/**
 * Rejects when the socket closes. If a broker closes the connection before it is established (in
 * the middle of a TLS handshake), kafkajs stops its timeout and settles nothing, so all callers
 * that share the attempt would hang.
 */
const closed = ({ socket }: ConnectionLike): Promise<never> =>
  new Promise((_, reject) => {
    const gone = (): void => reject(new internals.ConnectionError("Connection error: closed before it was made"));
    // An error comes with a close: what kafkajs says of it goes first.
    socket?.once("close", () => setImmediate(gone));
  });

/**
 * A closed socket defers unref by a listener each time. kafkajs calls it with every disconnect, and
 * a broker that is away is disconnected by every request that fails.
 */
function unrefOnce({ socket }: ConnectionLike): void {
  if (socket === undefined) return;
  const unref = socket.unref.bind(socket);
  let isDone = false;
  socket.unref = () => {
    if (isDone) return socket;
    isDone = true;
    return unref();
  };
}

/** Wraps Connection.connect. */
function withOneSocket(
  connect: (this: ConnectionLike) => Promise<unknown>,
): (this: ConnectionLike) => Promise<unknown> {
  const connecting = new WeakMap<ConnectionLike, Promise<unknown>>();
  return function oneSocket() {
    const underWay = connecting.get(this);
    if (underWay !== undefined) return underWay;
    if (!this.isConnected()) forgetFormer(this);
    const established = connect.call(this);
    unrefOnce(this);
    const attempt = Promise.race([established, closed(this)]).finally(() => connecting.delete(this));
    connecting.set(this, attempt);
    return attempt;
  };
}

export function patchConnection(): void {
  const { prototype } = internals.Connection;
  prototype.connect = withOneSocket(prototype.connect);
}

// Whether a Host header names this machine: a web page can reach a server on the loopback by a name
// of its own (DNS rebinding), and then says that name. Pure.

const names = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})(?::\d{1,5})?$/i;

/** Whether HTTP's Host header names this machine; a missing or repeated header does not. */
export const isLocalHost = (host: string | readonly string[] | undefined): boolean =>
  typeof host === "string" && names.test(host);

/** Whether an IP address is this machine's own. */
export const isLoopback = (address = ""): boolean => /^(?:::ffff:)?127\.|^::1$/.test(address);

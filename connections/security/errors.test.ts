import { expect, it } from "vitest";
import { adviceOf, remedyOf } from "./errors.ts";

it.each([
  [{ name: "KafkaJSProtocolError", type: "GROUP_AUTHORIZATION_FAILED" }, /topology --acls/],
  [{ name: "KafkaJSSASLAuthenticationError", message: "SASL SCRAM SHA512 authentication failed: no" }, /kafka\.sasl/],
  [{ message: "SASL PLAIN mechanism is not supported by the server" }, /kafka\.sasl\.mechanism/],
  [{ message: "Connection error", code: "SELF_SIGNED_CERT_IN_CHAIN" }, /tls\.ca/],
  [
    { message: "registry ... can't be reached: Error, status 400: self-signed certificate in certificate chain" },
    /tls\.ca/,
  ],
  [{ message: "x", cause: { code: "CERT_HAS_EXPIRED" } }, /renew/],
  [{ message: "x", code: "ERR_TLS_CERT_ALTNAME_INVALID" }, /other names/],
  [{ message: "x", originalError: { message: "ssl3_get_record:wrong version number" } }, /no TLS/],
])("has a remedy for %o", (error, remedy) => {
  expect(remedyOf(Object.assign(new Error(), error))).toMatch(remedy);
});

it.each(["Closed connection", "socket hang up", "Client network socket disconnected before secure TLS connection"])(
  "suspects TLS and credentials at the end of all attempts: %s",
  (message) => {
    const error = new Error("all attempts failed", { cause: new Error(message) });
    expect([remedyOf(error), adviceOf(error)]).toEqual([
      undefined,
      expect.stringMatching(/TLS \(https, or tls\) and credentials/),
    ]);
    expect(adviceOf(new Error("certificate has expired"))).toMatch(/renew/);
  },
);

it("has none for a server that is away", () => {
  expect(remedyOf(new Error("connect ECONNREFUSED"))).toBeUndefined();
  expect(adviceOf(undefined)).toBeUndefined();
});

// Why trust with a server fails, and what to do. A waiting process then continues.

/** A secret or a certificate of ours that is unusable; its message says what to do. */
export class SecurityProblem extends Error {
  override name = "SecurityProblem";
  readonly retriable = false;
}

/** By the codes of OpenSSL and Node.js, which some libraries keep only in their messages' words. */
const remedies: readonly [RegExp, string][] = [
  [
    /Authorization[_ ]?failed|not authorized to access|_AUTHORIZATION_FAILED/i,
    'the principal lacks an ACL: "precedent topology --acls" prints those that each stage needs',
  ],
  [
    /SASL \S+ mechanism is not supported/,
    "set kafka.sasl.mechanism to one that this listener of the broker has enabled",
  ],
  [
    /SASLAuthentication|SASL .*authentication failed|ILLEGAL_SASL_STATE/,
    "see that kafka.sasl has the name and password, or the token, that the broker knows, and that the broker's listener takes SASL",
  ],
  [
    /CERT_HAS_EXPIRED|certificate has expired/,
    "renew the certificate of the server, or of the authority in tls.ca; see that this machine's clock is right",
  ],
  [/CERT_NOT_YET_VALID|certificate is not yet valid/, "see that the clocks of both machines are right"],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)|self[- ]signed certificate|unable to (?:verify the first certificate|get (?:local )?issuer certificate)|CERT_SIGNATURE_FAILURE|certificate signature failure/,
    "we don't know the authority that vouches for the server: name its PEM file in tls.ca of this server's section",
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate's altnames/,
    "the server's certificate is for other names: address it by one of those",
  ],
  [
    /alert certificate required|alert bad certificate|alert unknown ca|alert handshake failure|CERTIFICATE_REQUIRED/i,
    "the server does not take our certificate: see that tls.cert and tls.key are of an authority that it knows",
  ],
  [
    /wrong version number|ERR_SSL_WRONG_VERSION_NUMBER|packet length too long/,
    "the server's port speaks no TLS: name its TLS port, or leave TLS out",
  ],
];

/** A server that restarts looks the same: only who has given up is told. */
const suspicions: typeof remedies = [
  [
    /the brokers advertise/,
    "see that these run, and that advertised.listeners of each is an address that this machine can resolve and connect to",
  ],
  [
    /Closed connection|closed before it was made|disconnected before secure TLS|socket hang up/,
    "the server closes connections as soon as they are made: see that TLS (https, or tls) and credentials (sasl) are what its port takes",
  ],
];

/** What to do about a refusal; undefined where an error is none. */
export const remedyOf = (error: unknown): string | undefined => adviceFrom(remedies, error);

/** The same for a person, at the end of all attempts. */
export const adviceOf = (error: unknown): string | undefined => remedyOf(error) ?? adviceFrom(suspicions, error);

function adviceFrom(known: typeof remedies, error: unknown): string | undefined {
  for (let e = error as Partial<Record<string, unknown>> | undefined, depth = 0; e && depth < 6; depth++) {
    const words = [e.name, e.type, e.code, e.message].filter((word) => typeof word === "string").join(" ");
    const found = known.find(([pattern]) => pattern.test(words));
    if (found !== undefined) return found[1];
    e = (e.originalError ?? e.cause) as Partial<Record<string, unknown>> | undefined;
  }
  return undefined;
}

// An identity provider in a test: a token endpoint for client credentials, and the keys with which
// a broker checks its tokens.
import { createSign, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface IdentityProvider {
  endpoint: string;
  jwks: string;
  /** Tokens given out. */
  given(): number;
  close(): Promise<void>;
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The principal of a token is its client's id. */
export async function startIdentityProvider(
  clients: Readonly<Record<string, string>>,
  lifeSeconds: number,
): Promise<IdentityProvider> {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  let count = 0;
  const token = (sub: string): string => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = { sub, aud: "kafka", iss: "test", iat: now, exp: now + lifeSeconds, jti: String(++count) };
    const signed = `${part({ alg: "RS256", typ: "JWT", kid: "k1" })}.${part(claims)}`;
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(privateKey, "base64url")}`;
  };
  const server = createServer((request, response) => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    request.resume();
    if (request.url === "/jwks") {
      answer(200, { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", alg: "RS256", use: "sig" }] });
      return;
    }
    const [, basic = ""] = (request.headers.authorization ?? "").split(" ");
    const [id = "", secret] = Buffer.from(basic, "base64").toString().split(":");
    if (clients[id] === undefined || clients[id] !== secret) answer(401, { error: "invalid_client" });
    else answer(200, { access_token: token(id), token_type: "Bearer", expires_in: lifeSeconds });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ endpoint: `${at}/token`, jwks: `${at}/jwks`, given: () => count },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

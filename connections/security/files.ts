// Certificates and secrets in files. They are read when a connection is made, so that what is
// rotated holds from the next one on; messages name the file, never what it holds.
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { messageOf } from "../errors.ts";
import type { TlsFiles } from "../../config/sections/security.ts";
import { SecurityProblem } from "./errors.ts";

/** Always checked, whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
export type TlsOptions = SecureContextOptions & { rejectUnauthorized: true };

/** Throws SecurityProblem when a file is missing or is not what it should be. */
export function tlsOptions(files: TlsFiles = {}): TlsOptions {
  const { ca, cert, key, passphrase } = files;
  const options = {
    ...(ca === undefined ? {} : { ca: authorities(ca) }),
    ...(cert === undefined ? {} : { cert: read(cert, "a certificate") }),
    ...(key === undefined ? {} : { key: read(key, "a private key") }),
    ...(passphrase === undefined ? {} : { passphrase }),
  };
  try {
    createSecureContext(options);
  } catch (cause) {
    const named = [ca, cert, key].filter((file) => file !== undefined).join(", ");
    throw new SecurityProblem(
      `TLS can't be set up with ${named}: ${messageOf(cause)}; they must be PEM files, the key that of the certificate, the passphrase that of the key`,
      { cause },
    );
  }
  return { ...options, rejectUnauthorized: true };
}

/** OpenSSL ignores what is no certificate, a Java keystore for one. */
function authorities(file: string): string {
  const text = read(file, "certificates");
  if (/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/.test(text)) return text;
  throw new SecurityProblem(
    `${file} holds no certificate in PEM form: export it from a Java keystore with keytool -exportcert -rfc`,
  );
}

/** The secret itself, or that of the file without the line's end. */
export function secretOf(value: string | undefined, file: string | undefined): string | undefined {
  if (file === undefined) return value;
  const secret = read(file, "a secret").trim();
  if (secret === "") throw new SecurityProblem(`${file} is empty: it should hold a secret`);
  return secret;
}

function read(file: string, what: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new SecurityProblem(`${file} can't be read: ${messageOf(cause)}; it should hold ${what}`, { cause });
  }
}

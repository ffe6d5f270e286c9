// A look at the store's file before LMDB maps it: a cut or foreign file would end the process
// (SIGBUS, seen).
import { open } from "node:fs/promises";
import { isMissing } from "../../connections/errors.ts";

/** Offsets in the two meta pages of LMDB 1.0 on 64 bits. */
const meta = { magic: 24, version: 28, pageSize: 48, lastPage: 144, transaction: 152, bytes: 160 };
const magic = 0xbeefc0de;
const version = 2;

/** null: nothing speaks against it. A file that is missing is a store that begins. */
export async function reasonAgainstFile(file: string, pageSize: number): Promise<string | null> {
  const handle = await open(file).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    if (size === 0) return null;
    const pages = await Promise.all(
      [0, pageSize].map(async (position) => {
        const bytes = Buffer.alloc(meta.bytes);
        await handle.read(bytes, 0, bytes.length, position);
        return bytes;
      }),
    );
    for (const bytes of pages)
      if (
        bytes.readUInt32LE(meta.magic) !== magic ||
        bytes.readUInt32LE(meta.version) !== version ||
        bytes.readUInt32LE(meta.pageSize) !== pageSize
      )
        return "its file does not begin as a store's file does";
    const newest = pages.reduce((one, other) =>
      other.readBigUInt64LE(meta.transaction) > one.readBigUInt64LE(meta.transaction) ? other : one,
    );
    const expected = (newest.readBigUInt64LE(meta.lastPage) + 1n) * BigInt(pageSize);
    return BigInt(size) < expected ? `its file has ${size} bytes, expected ${expected}` : null;
  } finally {
    await handle.close();
  }
}

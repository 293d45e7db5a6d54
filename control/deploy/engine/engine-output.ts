/**
 * Where a run of the engine writes what it prints. Not a pipe: when the command is killed, the engine's next line would end it by
 * SIGPIPE in the middle of its step, and leave its providers running for good. With a file it ends its step and itself.
 */

import { randomUUID } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface EngineOutput {
  /** For the child. */
  readonly fd: number;
  /** All that was written, UTF-8. */
  text(): Promise<string>;
  close(): Promise<void>;
}

/** A file without a name: nobody else finds it, and it is gone with its last user. */
export async function engineOutput(): Promise<EngineOutput> {
  const path = join(tmpdir(), `cairn-engine-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await unlink(path);
  return {
    fd: file.fd,
    async text() {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
      return buffer.toString("utf8", 0, bytesRead);
    },
    close: () => file.close(),
  };
}

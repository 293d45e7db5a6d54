import { fsyncSync } from "node:fs";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/**
 * PGlite's files on disk, with the one operation that its file system leaves out: fsync. Without it a commit is safe
 * from the end of the process, but not from a power cut.
 */
export class DurableFiles extends NodeFS {
  override async init(...args: Parameters<NodeFS["init"]>): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(...args);
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), installFsync] } };
  }
}

interface OpenFile {
  /** The operating system's descriptor. */
  readonly nfd?: number;
}

interface StreamOperations {
  fsync?: (file: OpenFile) => number;
}

interface Module {
  // Emscripten's typings know neither the file systems' tables nor what they hold.
  readonly FS: { readonly filesystems: object; readonly ErrnoError: new (code: number) => Error };
}

const EIO = 29;
const ENOSPC = 51;

function installFsync(module: Module): void {
  const { filesystems, ErrnoError } = module.FS;
  const operations = operationsOf(filesystems);
  operations.fsync = ({ nfd }) => {
    if (nfd === undefined) return 0;
    try {
      fsyncSync(nfd);
      return 0;
    } catch (error) {
      throw new ErrnoError(isFull(error) ? ENOSPC : EIO);
    }
  };
}

function operationsOf(filesystems: object): StreamOperations {
  if ("NODEFS" in filesystems) {
    const nodefs = filesystems.NODEFS;
    if (typeof nodefs === "object" && nodefs !== null && "stream_ops" in nodefs) {
      const operations = nodefs.stream_ops;
      if (typeof operations === "object" && operations !== null) return operations;
    }
  }
  throw new Error("This version of PGlite has no place for an fsync.");
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}

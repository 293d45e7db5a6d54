import { fstatSync, fsyncSync } from "node:fs";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import { codeOf } from "../../../contracts/system-errors.ts";

/**
 * PGlite's files on disk, with the one operation that its file system leaves out: fsync. Without it a commit is safe
 * from the end of the process, but not from a power cut. What it creates is the owner's alone, whatever the process's
 * umask, which a thread cannot set: the engine creates files with 0666.
 */
export class DurableFiles extends NodeFS {
  readonly #syncs: Syncs;

  /** `syncedBefore`: files that were last changed before this moment are on the disk; until `started`. */
  constructor(directory: string, syncedBefore?: number) {
    super(directory);
    this.#syncs = new Syncs(syncedBefore);
  }

  override async init(...args: Parameters<NodeFS["init"]>): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(...args);
    const install = (module: Module): void => {
      this.#syncs.install(module);
      keepPrivate(module);
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), install] } };
  }

  /** The engine is open. Before it was, its recovery requested an fsync of every file there is. */
  started(): void {
    this.#syncs.syncedBefore = undefined;
  }

  /** While relaxed, files are written but their fsync is put off: until the next one that is not, or until `flush`. */
  set relaxed(value: boolean) {
    this.#syncs.relaxed = value;
  }

  /** True when an fsync was put off. */
  get pending(): boolean {
    return this.#syncs.pending;
  }

  flush(): void {
    this.#syncs.flush();
  }
}

/** An open file of the engine; `nfd` is the operating system's descriptor. */
interface OpenFile {
  readonly nfd?: number;
}

interface FileOperations {
  fsync?: (file: OpenFile) => number;
  close: (file: OpenFile) => void;
}

interface NodeOperations {
  mknod: (parent: object, name: string, mode: number, device: number) => object;
  setattr: (node: object, change: { readonly mode?: number }) => void;
}

interface Module {
  // Emscripten's typings have neither the file systems' tables nor their entries.
  readonly FS: { readonly filesystems: object; readonly ErrnoError: new (code: number) => Error };
}

/** All bits of a mode but those of group and others: the mode has the file's type, too. */
const OWNER_ONLY = ~0o077;
const EIO = 29;
/** The engine's number for a full disk: its C library's, not the system's. */
export const ENOSPC = 51;

class Syncs {
  relaxed = false;
  syncedBefore: number | undefined;
  readonly #pending = new Set<number>();

  constructor(syncedBefore: number | undefined) {
    this.syncedBefore = syncedBefore;
  }

  get pending(): boolean {
    return this.#pending.size > 0;
  }

  install(module: Module): void {
    const { filesystems, ErrnoError } = module.FS;
    const operations = operationsOf(filesystems);
    const close = operations.close;
    const guarded = (work: () => void): number => {
      try {
        work();
        return 0;
      } catch (error) {
        throw new ErrnoError(isFull(error) ? ENOSPC : EIO);
      }
    };
    operations.fsync = ({ nfd }) => (nfd === undefined ? 0 : guarded(() => this.#sync(nfd)));
    operations.close = (file) => {
      const { nfd } = file;
      if (nfd !== undefined && this.#pending.has(nfd)) guarded(() => this.flush());
      close(file);
    };
  }

  /** What was put off first comes first: nothing becomes durable before what was written before it. */
  flush(): void {
    for (const nfd of this.#pending) fsyncSync(nfd);
    this.#pending.clear();
  }

  #sync(nfd: number): void {
    if (this.relaxed) {
      this.#pending.add(nfd);
      return;
    }
    this.flush();
    if (this.syncedBefore !== undefined && fstatSync(nfd).mtimeMs < this.syncedBefore) return;
    fsyncSync(nfd);
  }
}

/** Files and directories never get rights for group and others: not when they are made, and not by the chmod that follows. */
function keepPrivate({ FS }: Module): void {
  const operations = nodefsOf(FS.filesystems)["node_ops"];
  if (!hasModes(operations)) throw new Error("This version of PGlite has no place for the modes of files.");
  const { mknod, setattr } = operations;
  operations.mknod = (parent, name, mode, device) => mknod(parent, name, mode & OWNER_ONLY, device);
  operations.setattr = (node, change) =>
    setattr(node, change.mode === undefined ? change : { ...change, mode: change.mode & OWNER_ONLY });
}

function operationsOf(filesystems: object): FileOperations {
  const operations = nodefsOf(filesystems)["stream_ops"];
  if (!hasClose(operations)) throw new Error("This version of PGlite has no place for an fsync.");
  return operations;
}

function nodefsOf(filesystems: object): Readonly<Record<string, unknown>> {
  const nodefs = "NODEFS" in filesystems ? filesystems.NODEFS : undefined;
  // An object of any kind may be asked for members of any name.
  return typeof nodefs === "object" && nodefs !== null ? (nodefs as Readonly<Record<string, unknown>>) : {};
}

function hasModes(value: unknown): value is NodeOperations {
  if (typeof value !== "object" || value === null || !("mknod" in value) || !("setattr" in value)) return false;
  return typeof value.mknod === "function" && typeof value.setattr === "function";
}

function hasClose(value: unknown): value is FileOperations {
  return typeof value === "object" && value !== null && "close" in value && typeof value.close === "function";
}

function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "");
}

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The global, which Node's types leave to those of browsers. What it makes may be posted to other threads. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/**
 * PGlite's WebAssembly, compiled once for a process and kept: a thread that opens the store again, or another store, finds its
 * functions compiled, which is half of what an opening costs. Threads share the compiled code.
 */
let program: Promise<object> | undefined;

export function engineProgram(): Promise<object> {
  program ??= compile().catch((error: unknown) => {
    program = undefined;
    throw error;
  });
  return program;
}

async function compile(): Promise<object> {
  const folder = dirname(createRequire(import.meta.url).resolve("@electric-sql/pglite"));
  return WebAssembly.compile(await readFile(join(folder, "pglite.wasm")));
}

/** Imports a plugin's module and calls its `create`, in whichever process: the one that tries it, then the node. */

import { randomUUID } from "node:crypto";
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import type { LoadRequest } from "../../contracts/plugin-trial.ts";
import type { Logger } from "../../contracts/ports.ts";
import { isRecord } from "../../contracts/values.ts";
import { shapeProblem } from "./shapes.ts";

const API = "cairn-agents/plugin";

/**
 * From now on the node's own copy is what `cairn-agents/plugin` means, so that its errors are those that the node knows, and that a
 * plugin needs no copy. Ends with `deregister`.
 */
export function provideApi(): { deregister(): void } {
  const url = new URL(`../api${extname(import.meta.url)}`, import.meta.url).href;
  return registerHooks({
    resolve: (specifier, context, next) => (specifier === API ? { url, shortCircuit: true } : next(specifier, context)),
  });
}

/** What `create` made at each call, checked. Rejects with what the plugin throws, or an Error that says what is wrong. */
export async function openPlugin({ file, kind, needs }: LoadRequest, logger: Logger): Promise<readonly unknown[]> {
  const module: unknown = await import(pathToFileURL(file).href);
  const create = isRecord(module) ? module["create"] : undefined;
  if (typeof create !== "function") throw new Error("it exports no function create");
  const made: unknown[] = [];
  for (const each of needs) {
    const one: unknown = await create({ ...each, logger, newId: randomUUID });
    const problem = shapeProblem(kind, one, each.id);
    if (problem !== null) throw new Error(problem);
    made.push(one);
  }
  return made;
}

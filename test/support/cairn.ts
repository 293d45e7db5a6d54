/** The command line from its sources, as a program; with CAIRN_STAND_IN=1 it starts the stand-in instead of the service. */

import { registerHooks } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";
import "./no-model-servers.js";

if (process.env.CAIRN_STAND_IN === "1") {
  const entry = new URL("./stand-in-entry.ts", import.meta.url).href;
  registerHooks({
    resolve: (specifier, context, next) => next(specifier.endsWith("/runtime-entry.ts") ? entry : specifier, context),
  });
}
const { main } = await import("../../control/main.ts");

export const runCommandLine = (argv: readonly string[]): Promise<void> =>
  main(argv, fileURLToPath(new URL("../..", import.meta.url)));

if (import.meta.main) await runCommandLine(process.argv.slice(2));

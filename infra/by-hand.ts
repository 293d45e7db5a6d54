/**
 * Lets `pulumi` by hand run a built program with the packages of the rendered project. The build puts a copy of Pulumi's SDK into
 * `packages/`, and the language host loads the project's own: both in one process would refuse each other's messages.
 */

import { registerHooks } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

/** `../packages/@pulumi+kubernetes+provider.js.js`, as the build writes `@pulumi/kubernetes/provider.js`. */
const COPY = /\/packages\/(@pulumi\+[^/]+)\.js$/;

/** Imports of copies lead into `node_modules` of the project, the current directory, from now on. */
export function useProjectPackages(project = process.cwd()): void {
  const parentURL = pathToFileURL(join(project, "index.ts")).href;
  registerHooks({
    resolve(specifier, context, next) {
      const name = COPY.exec(specifier)?.[1]?.replaceAll("+", "/");
      return name === undefined ? next(specifier, context) : next(name, { ...context, parentURL });
    },
  });
}

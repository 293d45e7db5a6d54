/** For processes that run a rendered project: `cairn/infra` is this checkout's source instead of what was built last. */
import { registerHooks } from "node:module";

const SOURCE = new URL("../../../infra/index.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cairn/infra" ? { url: SOURCE, shortCircuit: true } : next(specifier, context),
});

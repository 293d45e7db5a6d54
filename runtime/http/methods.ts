/** 405 where the path is known and the method is not. */

import { RuntimeError } from "../contracts/errors.ts";
import type { Server } from "./deps.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** To be called before any route is added; the returned function, after the last one. */
export function installMethodCheck(server: Server): () => void {
  const methodsOf = new Map<string, Set<string>>();
  server.addHook("onRoute", ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    methodsOf.set(url, methods);
  });
  return () => {
    for (const [url, methods] of [...methodsOf]) {
      const allowed = [...methods].sort().join(", ");
      server.route({
        method: METHODS.filter((method) => !methods.has(method)),
        url,
        config: { access: "public" },
        schema: { hide: true },
        onRequest: async (request, reply) => {
          reply.header("allow", allowed);
          throw new RuntimeError(
            "RUNTIME_METHOD_NOT_ALLOWED",
            `${request.method} is not allowed here; use ${allowed}.`,
          );
        },
        handler: async () => undefined,
      });
    }
  };
}

/** The HTTP server's public face. */

export { DEFAULT_LIMITS, type Server, type ServerDeps, type ServerLimits } from "./deps.ts";
export { assertSafeListen, isLoopback, type ListenAddress, listenOn } from "./listen.ts";
export { createServer } from "./server.ts";

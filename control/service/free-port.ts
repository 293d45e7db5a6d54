/** Whether an address of this machine can be listened on. */

import { createServer } from "node:net";

/** True also when it cannot be determined: who listens there later says why it cannot. */
export function isFreePort({ host, port }: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (problem: NodeJS.ErrnoException) => resolve(problem.code !== "EADDRINUSE"));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

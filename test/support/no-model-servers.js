/**
 * Loaded first by tests and by the commands that they run: a model server that the user of this machine has is found by no
 * test. A program that is not started from the sources loads it by NODE_OPTIONS.
 */

/** Where a setup looks for model servers of its own machine (`localServers` in control/wizard/catalogue.ts). */
export const USUAL_PORTS = ["11434", "1234", "8080", "8000"];

/** The environment of a program that loads this. */
export const NO_MODEL_SERVERS = { NODE_OPTIONS: `--import=${import.meta.url}` };

const real = globalThis.fetch;

/** @type {typeof fetch} */
function fetchElsewhere(input, init) {
  const address = input instanceof Request ? input.url : String(input);
  const { hostname, port } = URL.canParse(address) ? new URL(address) : { hostname: "", port: "" };
  if (hostname !== "127.0.0.1" || !USUAL_PORTS.includes(port)) return real(input, init);
  return Promise.reject(new TypeError("fetch failed", { cause: new Error("no test asks a server of this machine") }));
}

// Files of a lane may share a process.
if (real.name !== fetchElsewhere.name) globalThis.fetch = fetchElsewhere;

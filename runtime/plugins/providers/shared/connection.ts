/** Milliseconds to connect, each address of a host included. */
const CONNECT_MS = 10_000;

/**
 * A fetch whose connections may be silent for as long as its caller allows: the platform's own gives up after 300 s, which
 * a model on a small machine can need to read a long prompt. Its connections are kept for the next request, and keep no
 * process alive.
 */
export async function openFetch(): Promise<typeof globalThis.fetch> {
  const { Agent, fetch } = await import("undici");
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: CONNECT_MS } });
  const send: unknown = (input: string, init: object) => fetch(input, { ...init, dispatcher });
  // The same interface, declared a second time by the package: only the names of its types differ.
  return send as typeof globalThis.fetch;
}

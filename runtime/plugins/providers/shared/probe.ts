/** Deadline of a probe whether a server is reachable, in milliseconds. */
const PROBE_MS = 1_500;

/** Whether a server that needs no key answers at an address. Never rejects; takes at most 1.5 s. */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(PROBE_MS) });
    await response.body?.cancel();
    // A server without this route is there all the same; one that wants a key is of no use without.
    return response.ok || response.status === 404 || response.status === 405;
  } catch {
    return false;
  }
}

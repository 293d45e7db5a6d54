/**
 * What an interrupted run left on Proxmox: nothing to look for. A command has no id on the host, and each can be repeated: what was
 * interrupted is simply done again. What was changed by hand is found before the graph is applied (observe.ts).
 */
export async function findInterrupted(): Promise<string | null> {
  return null;
}

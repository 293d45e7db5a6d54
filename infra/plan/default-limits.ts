/** Memory limits of a docker host's containers where the configuration names none, from the size of the machine. */

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** A node with a thousand sessions stays below; a command of an agent may take as much again. */
const NODE = { least: 512 * MIB, most: 4 * GIB };
/** PostgreSQL keeps what it reads: more is useful for longer. */
const DATABASE = { least: 512 * MIB, most: 16 * GIB };

/**
 * Bytes, whole MiB. A quarter of the machine for the database, half of it shared by the nodes, the rest for the system. Limits
 * are no reservations: on a small machine their sum may be more than it has.
 */
export function defaultMemory(
  machineBytes: number,
  nodes: number,
): { readonly node: number; readonly database: number } {
  return {
    node: within(machineBytes / 2 / Math.max(nodes, 1), NODE),
    database: within(machineBytes / 4, DATABASE),
  };
}

function within(bytes: number, { least, most }: { readonly least: number; readonly most: number }): number {
  return Math.floor(Math.min(Math.max(bytes, least), most) / MIB) * MIB;
}

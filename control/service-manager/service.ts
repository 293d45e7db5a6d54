/** What a service manager needs of a node, independent of the manager. Pure: the files are written elsewhere. */

export interface ServiceDescription {
  /** Unit or label: `cairn`, or `cairn-<name>` for a second deployment on the machine. */
  readonly name: string;
  /** Program and arguments, absolute. */
  readonly command: readonly string[];
  /** Deployment directory; also where the process works. */
  readonly dir: string;
  /** Directories that the node writes to, absolute; a machine's service can write nowhere else but to its own /tmp. */
  readonly writable: readonly string[];
  /** None of it secret: secrets are in `.env`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Seconds until a node that does not end is killed; above the drain deadline. */
  readonly stopSeconds: number;
  /** The whole machine's service (needs root), or one of the user who runs the command. */
  readonly scope: "system" | "user";
  /** User of a machine's service; null: root. */
  readonly user: string | null;
}

/** Seconds between the drain deadline and the kill: the node's own watchdog ends it before. */
const GRACE_S = 30;

/** The supervisor's kill lies above the drain deadline (both in milliseconds), whatever is configured. */
export function stopSeconds(drainDeadlineMs: number, stopTimeoutMs: number | undefined): number {
  const least = Math.ceil(drainDeadlineMs / 1_000) + GRACE_S;
  return Math.max(least, stopTimeoutMs === undefined ? 0 : Math.ceil(stopTimeoutMs / 1_000));
}

/** The template with every `{{NAME}}` replaced; a name without a value is a mistake of ours. */
export function fillTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{\{([A-Z_]+)\}\}/g, (_whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The template has no value for ${name}.`);
    return value;
  });
}

/** The machine of a node that was set up by hand: this one, or one that is reached over SSH by its pinned key. */

import type { Readable } from "node:stream";
import { execa } from "execa";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { shellWord } from "../../../runtime/contracts/shell-quote.ts";
import { parseSshFailure } from "../../deploy/ssh/failure.ts";
import { RELAY, relay } from "../../deploy/ssh/relay.ts";
import { openSsh, type SshHost } from "../../deploy/ssh/ssh.ts";

export interface HostCommand {
  readonly words: readonly string[];
  readonly input?: Readable;
  /** Milliseconds; default one minute. */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

export interface Host {
  /** As people are told of it. */
  readonly label: string;
  /**
   * What the command wrote to standard output. INFRA_HOST_UNREACHABLE, INFRA_HOST_KEY_MISMATCH, the code that a script of ours names,
   * or INFRA_FAILED with the command's last words.
   */
  run(command: HostCommand): Promise<string>;
  /** Where this machine reaches an address as the host sees it. `node`: Node's path there. */
  reach(node: string, to: HostAddress): Promise<HostAddress & { close(): void }>;
  close(): Promise<void>;
}

export interface HostAddress {
  readonly host: string;
  readonly port: number;
}

const COMMAND_MS = 60_000;
const KILL_AFTER_MS = 2_000;

/** Null: this machine. */
export function openHost(at: SshHost | null): Promise<Host> {
  return at === null ? Promise.resolve(here()) : over(at);
}

async function over(at: SshHost): Promise<Host> {
  const ssh = await openSsh(at);
  const line = (words: readonly string[]): string => words.map(shellWord).join(" ");
  return {
    label: at.host,
    async run({ words, ...rest }) {
      return (await ssh.run({ line: line(words), ...rest })).stdout;
    },
    async reach(node, { host, port }) {
      const listener = await relay(ssh, line([node, "-e", RELAY, host, String(port)]));
      return { host: "127.0.0.1", port: listener.port, close: () => listener.close() };
    },
    close: () => ssh.close(),
  };
}

function here(): Host {
  const label = "this machine";
  return {
    label,
    async run({ words: [program = "", ...args], input, timeoutMs = COMMAND_MS, signal }) {
      signal.throwIfAborted();
      const source = input === undefined ? { stdin: "ignore" as const } : { input };
      const options = { reject: false, timeout: timeoutMs, forceKillAfterDelay: KILL_AFTER_MS } as const;
      const result = await execa(program, args, { ...options, ...source, cancelSignal: signal });
      signal.throwIfAborted();
      if (result.timedOut) {
        throw new InfraError("INFRA_HOST_UNREACHABLE", `A command gave no answer within ${timeoutMs / 1_000} s.`);
      }
      if (result.failed) throw parseSshFailure(label, { exitCode: result.exitCode ?? null, stderr: result.stderr });
      return result.stdout;
    },
    reach: (_node, to) => Promise.resolve({ ...to, close: () => undefined }),
    close: async () => undefined,
  };
}

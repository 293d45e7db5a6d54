/**
 * kubectl, always with an explicit cluster and namespace: arguments only, a deadline each time, and its words turned into our
 * errors in one place.
 */

import { ExecaError, execa, type ResultPromise } from "execa";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";

/** Longest that one call may take, in milliseconds; `--request-timeout` ends most of them earlier. */
const CALL_MS = 30_000;
const REQUEST_TIMEOUT = "15s";
/** Its output is read as it comes, its end is no error, and it does not outlive this process. */
const LASTING = { stdin: "ignore", env: { LC_ALL: "C" }, reject: false, buffer: false, cleanup: true } as const;

export interface KubectlOptions {
  readonly kubeconfig: string | null;
  readonly context: string | null;
  readonly namespace: string;
  /** Default: `kubectl` of PATH. */
  readonly program?: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly input?: string;
  /** Milliseconds; CALL_MS when absent. */
  readonly timeoutMs?: number;
}

export interface Kubectl {
  /** Standard output. `args` begin with the verb. */
  run(args: readonly string[], options: CallOptions): Promise<string>;
  /** Without a cluster: for what only reads the configuration file. */
  local(args: readonly string[], options: CallOptions): Promise<string>;
  /** A process that goes on, to be ended by its caller. */
  start(args: readonly string[]): ResultPromise<typeof LASTING>;
  /** The program with all its arguments, to be run by the caller. */
  command(args: readonly string[]): { readonly program: string; readonly args: readonly string[] };
}

export function createKubectl({ kubeconfig, context, namespace, program = "kubectl" }: KubectlOptions): Kubectl {
  const file = kubeconfig === null ? [] : [`--kubeconfig=${kubeconfig}`];
  const where = [...file, ...(context === null ? [] : [`--context=${context}`]), `--namespace=${namespace}`];
  const call = async (args: readonly string[], { signal, input, timeoutMs = CALL_MS }: CallOptions) => {
    signal.throwIfAborted();
    try {
      const result = await execa(program, [...args], {
        ...(input === undefined ? { stdin: "ignore" as const } : { input }),
        env: { LC_ALL: "C" },
        timeout: timeoutMs,
        cancelSignal: signal,
        stripFinalNewline: true,
      });
      return result.stdout;
    } catch (error) {
      signal.throwIfAborted();
      throw kubectlError(error, context);
    }
  };
  return {
    run: (args, options) => call([...where, `--request-timeout=${REQUEST_TIMEOUT}`, ...args], options),
    local: (args, options) => call([...file, ...args], options),
    start: (args) => execa(program, [...where, ...args], LASTING),
    command: (args) => ({ program, args: [...where, ...args] }),
  };
}

/** What kubectl's failure means. Its own words go along: they name the object, and never hold a secret. */
function kubectlError(error: unknown, context: string | null): InfraError {
  if (!(error instanceof ExecaError))
    return new InfraError("INFRA_FAILED", "kubectl could not be run.", { cause: error });
  if (error.code === "ENOENT" || error.code === "EACCES") {
    return new InfraError("INFRA_TOOL_MISSING", "kubectl is not installed, or not on PATH.", {
      hint: "Install kubectl: https://kubernetes.io/docs/tasks/tools/.",
      cause: error,
    });
  }
  const words = lastWords(typeof error.stderr === "string" ? error.stderr : "");
  if (error.timedOut) {
    const cluster = `The cluster${context === null ? "" : ` of the context ${context}`}`;
    return new InfraError("INFRA_HOST_UNREACHABLE", `${cluster} did not answer in time.`, { hint: SEE, cause: error });
  }
  return failureOf(words, context);
}

const SEE = "See whether `kubectl cluster-info` works with the same context.";

/** Severity, date, time, thread and place in the source, before what kubectl logs of itself. */
const LOG_PREFIX = /^[EWIF]\d{4} [\d:.]+\s+\d+ [\w.-]+:\d+\] /;

/** From the words alone, for a process that was started with `start`. */
export function failureOf(said: string, context: string | null): InfraError {
  const words = said.replace(LOG_PREFIX, "");
  if (/context "?[^"]*"? does not exist|context was not found/i.test(words)) {
    return new InfraError("INFRA_CONTEXT_UNKNOWN", `There is no context ${context ?? ""} in the kubeconfig.`, {
      hint: "Set deployment.kubernetes.context to one that `kubectl config get-contexts` lists.",
    });
  }
  if (
    /unable to connect to the server|was refused|no such host|i\/o timeout|TLS handshake timeout|context deadline exceeded|Client\.Timeout/i.test(
      words,
    )
  ) {
    return new InfraError("INFRA_HOST_UNREACHABLE", `The cluster cannot be reached: ${words}.`, {
      hint: SEE,
    });
  }
  if (/must be logged in|Unauthorized|provide credentials/i.test(words)) {
    return new InfraError("INFRA_HOST_UNREACHABLE", "The cluster does not accept the credentials of the context.", {
      hint: "Log in again, then repeat.",
    });
  }
  if (/forbidden/i.test(words)) {
    return new InfraError("INFRA_FAILED", `The cluster does not allow it: ${words}.`, {
      hint: "Ask the cluster's administrator for a role in the namespace.",
    });
  }
  return new InfraError("INFRA_FAILED", `kubectl failed: ${words === "" ? "it said nothing" : words}.`);
}

/** A user who may not list something for the whole cluster may still use it. */
export function unknownIfForbidden(thrown: unknown): undefined {
  if (thrown instanceof InfraError && thrown.code === "INFRA_FAILED" && /forbidden/i.test(thrown.message)) return;
  throw thrown;
}

/** The last line that says something, without kubectl's own prefix and full stop. */
function lastWords(stderr: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^[EWI]\d{4} /.test(line) && !line.startsWith("Warning:"));
  return (lines.at(-1) ?? "").replace(/^error: /i, "").replace(/\.$/, "");
}

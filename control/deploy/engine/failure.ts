/** The one place that reads the words of the Pulumi engine: what went wrong, as an error of ours with what to do next. */

import { stripVTControlCharacters } from "node:util";
import { CairnError, InfraError } from "../../../runtime/contracts/errors.ts";
import { unreachableHost } from "../images/docker-cli.ts";
import { type FailureReport, reportOf } from "./failure-report.ts";
import { PulumiFailure } from "./pulumi-cli.ts";
import { parseUrn } from "./urn.ts";

export interface FailureContext {
  readonly stack: string;
  /** What was being done, as it is typed: `up`. */
  readonly command: string;
  /** Errors that the engine sent as events, newest last, redacted. */
  readonly diagnostics: readonly { readonly message: string; readonly resource: string | null }[];
  readonly redact: (text: string) => string;
}

/** `kind` for code that handles the failure and continues; the error for all other callers. */
export interface EngineFailure {
  readonly kind: "stack-not-found" | "stack-exists" | "locked" | "cancelled" | "other";
  readonly error: CairnError;
}

/** `root@vm (pid 6292) at 2026-11-21T21:02:50Z`, as the file backends describe a lock. */
const HELD_BY = /created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)/;
const PLUGIN =
  /(?:no resource plugin|could not load plugin for|Could not automatically download and install resource plugin|resource plugin)\s+'?(?:pulumi-resource-)?([a-z][a-z0-9-]*)'?(?:[^\n]*?(\d+\.\d+\.\d+))?/i;

/** The engine refuses it while it previews; what it advises next would remove the protection. */
const PROTECTED = /resource "([^"]+)" cannot be deleted\s+because it is protected/g;
const FULL = /no space left on device|file too large|disk quota exceeded/i;
/** Of the engine's own records, though it says so of the resource that it was to record. */
const UNRECORDED = /(?:pre|post)-step event returned an error|failed to save snapshot/i;
/** What providers say of a target that is gone. */
const LOST = [
  {
    // Of the command provider, whose host went away under a command or is not there for one.
    pattern:
      /^(?:wait: remote command exited without exit status or exit signal: running "|after \d+ failed attempts: (?!.*(?:host key|authenticate)))/,
    what: "target",
    see: "the host runs and can be reached",
  },
  {
    // Of the Kubernetes provider: a request that its connection to the API server broke under, or that got none.
    pattern:
      /"https?:\/\/[^"]+\/apis?\/[^"]+": (?:http2: client connection lost|net\/http: TLS handshake timeout|(?:dial|read|write) tcp |(?:unexpected )?EOF|context deadline exceeded)/,
    what: "cluster",
    see: "`kubectl cluster-info` works with the same context",
  },
] as const;
/** Docker's words for a name that is taken. */
const TAKEN = /network with name \S+ already exists|container name "[^"]+" is already in use/i;

export function describeEngineFailure(thrown: unknown, context: FailureContext): EngineFailure {
  if (thrown instanceof CairnError) return { kind: "other", error: thrown };
  if (!(thrown instanceof PulumiFailure)) return { kind: "other", error: unexpected(thrown, context) };
  const text = stripVTControlCharacters(`${thrown.stderr}\n${thrown.stdout}`);
  const { stack, command } = context;
  const fail = (
    kind: EngineFailure["kind"],
    code: ConstructorParameters<typeof InfraError>[0],
    message: string,
    hint: string,
    lastWords: readonly string[] = [],
  ): EngineFailure => ({ kind, error: new InfraError(code, message, { hint, cause: thrown, lastWords }) });

  if (/no stack named.*found/.test(text)) {
    return fail("stack-not-found", "INFRA_FAILED", `There is no stack ${stack}.`, "Create it with `cairn infra up`.");
  }
  if (/stack.*already exists/.test(text)) {
    return fail("stack-exists", "INFRA_FAILED", `The stack ${stack} exists already.`, "Run the command again.");
  }
  if (text.includes("the stack is currently locked by") || text.includes("Another update is currently in progress")) {
    const held = HELD_BY.exec(text);
    const who = held ? `${held[1]}@${held[2]} (process ${held[3]}, since ${held[4]})` : "another operator";
    const hint = `Wait until it is done. If that process is gone, run \`cairn infra unlock --force ${stack}\`.`;
    return fail("locked", "INFRA_LOCKED", `The stack ${stack} is locked by ${who}.`, hint);
  }
  if (/incorrect passphrase/i.test(text)) return { kind: "other", error: passphraseLost(stack, thrown) };
  if (/passphrase must be set|unable to find passphrase|no such file or directory.*passphrase/i.test(text)) {
    return { kind: "other", error: passphraseAbsent(stack, thrown) };
  }
  if (/failed to load checkpoint|unexpected end of JSON input|could not deserialize deployment|corrupt/i.test(text)) {
    return {
      kind: "other",
      error: new InfraError("INFRA_STATE_UNREADABLE", `The state of the stack ${stack} cannot be read.`, {
        hint: "Put the newest copy back with `cairn infra unlock --restore-state`.",
        cause: thrown,
      }),
    };
  }
  const elsewhere = context.diagnostics.filter(({ message }) => !UNRECORDED.test(message));
  const full = madeWhen({ ...context, diagnostics: elsewhere }, FULL);
  if (full.length > 0) {
    const words = `A disk of the target was full when this was made: ${full.join(", ")}.`;
    return fail("other", "INFRA_DISK_FULL", words, "Make room there, and run the same command again.");
  }
  if (FULL.test([text, ...diagnosed(context)].join("\n"))) {
    return fail("other", "INFRA_DISK_FULL", "The disk is full.", "Make room, and run the same command again.");
  }
  for (const { pattern, what, see } of LOST) {
    const lost = madeWhen(context, pattern);
    if (lost.length === 0) continue;
    const words = `The ${what} was lost in the middle of the work, when this was changed: ${lost.join(", ")}.`;
    return fail("other", "INFRA_HOST_UNREACHABLE", words, `See whether ${see}.`);
  }
  const unreachable = unreachableHost([text, ...diagnosed(context)].join("\n"));
  if (unreachable !== null) {
    const why = unreachable.why === null ? "" : `: ${redactedSentence(unreachable.why, context)}`;
    const message = `${unreachable.who} does not answer${why || "."}`;
    return fail("other", "INFRA_HOST_UNREACHABLE", message, `See that it is there: \`${unreachable.see}\`.`);
  }
  if (/Kubernetes cluster is unreachable|due to unreachable cluster/.test([text, ...diagnosed(context)].join("\n"))) {
    const hint =
      "See whether `kubectl cluster-info` works with deployment.kubernetes.kubeconfig and context. Where they have changed, " +
      "`cairn infra up` records how the cluster is reached now.";
    return fail(
      "other",
      "INFRA_HOST_UNREACHABLE",
      "The cluster that the stack was deployed to cannot be reached.",
      hint,
    );
  }
  const plugin = missingPlugin(text);
  if (plugin !== null) {
    const words = `${plugin.name}${plugin.version === null ? "" : ` ${plugin.version}`}`;
    const hint = `Install it with \`pulumi plugin install resource ${words}\`; that needs the network once.`;
    return fail("other", "INFRA_TOOL_MISSING", `Pulumi's plugin for ${words} is missing.`, hint);
  }
  const guarded = [...text.matchAll(PROTECTED)].map(([, urn = ""]) => parseUrn(urn).name);
  if (guarded.length > 0) return { kind: "other", error: dataProtected(guarded, thrown) };
  if (thrown.cancelled || /error: (?:preview|update|refresh|destroy) cancell?ed/.test(text)) {
    const hint = `What was done stays done. Run \`cairn infra ${command}\` again to finish it.`;
    return fail("cancelled", "INFRA_INTERRUPTED", `\`cairn infra ${command}\` was stopped before it was done.`, hint);
  }
  if (TAKEN.test(text)) {
    const hint =
      "Something of that name stands on the target and is not recorded: a run may have lost the target just when it was made. " +
      "If nothing needs it, remove it with the target's own tools (`docker network rm`, `docker rm`), never a volume, and run " +
      "the same command again.";
    const { sentence, lastWords } = firstError(text, context);
    return fail("other", "INFRA_FAILED", sentence, hint, lastWords);
  }
  const { sentence, lastWords, code } = firstError(text, context);
  const hint =
    code === "INFRA_LOCKED"
      ? "Wait for the other command, then run the same command again."
      : "What was done before it is recorded: correct the cause and run the same command again.";
  return fail("other", code ?? "INFRA_FAILED", sentence, hint, lastWords);
}

/** A change of the configuration would delete data: these volumes or claims. */
export function dataProtected(names: readonly string[], cause?: unknown): InfraError {
  const list = [...new Set(names)].sort().join(", ");
  return new InfraError("INFRA_DATA_PROTECTED", `This would remove data: ${list}.`, {
    hint:
      "Nothing was changed. Undo the change of the configuration that leads to it: no change of it takes data away. A node is taken " +
      "out, and its data are kept, by `cairn infra node remove NAME`.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Said plainly: the state can no longer be used, and this is what can be saved. */
export function passphraseLost(stack: string, cause?: unknown): InfraError {
  const message = `The secrets of the stack ${stack} were encrypted with another passphrase than the one in infra/.passphrase.`;
  return withoutSecrets(message, cause);
}

/** The same where there is no passphrase at all. */
export function passphraseAbsent(stack: string, cause?: unknown): InfraError {
  return withoutSecrets(`The passphrase of the stack ${stack} is absent: there is no file infra/.passphrase.`, cause);
}

function withoutSecrets(message: string, cause?: unknown): InfraError {
  return new InfraError("INFRA_PASSPHRASE_LOST", message, {
    hint:
      "Put the right passphrase back if there is a backup of that file. Otherwise the recorded state is lost, not the data: " +
      "`cairn infra recover` deploys the stack anew over the volumes and claims that stand on the target.",
    ...(cause === undefined ? {} : { cause }),
  });
}

function diagnosed({ diagnostics }: FailureContext): string[] {
  return diagnostics.map(({ message }) => message);
}

/** Resources of whose making these words were said. */
function madeWhen({ diagnostics }: FailureContext, words: RegExp): string[] {
  const said = diagnostics.filter(({ message }) => words.test(stripVTControlCharacters(message).trim()));
  return [...new Set(said.flatMap(({ resource }) => resource ?? []))].sort();
}

function redactedSentence(words: string, { redact }: FailureContext): string {
  return reportOf(redact(words)).sentence;
}

function missingPlugin(text: string): { readonly name: string; readonly version: string | null } | null {
  if (
    !/plugin/i.test(text) ||
    !/no resource plugin|could not load plugin|not automatically download|failed to (?:load|install|download) (?:resource )?plugin|plugin .* not found/i.test(
      text,
    )
  ) {
    return null;
  }
  const found = PLUGIN.exec(text);
  if (!found?.[1]) return null;
  return { name: found[1], version: found[2] ?? null };
}

/** What a resource's provider said comes before what the engine says about it. Others that failed are named. */
function firstError(text: string, { diagnostics, redact, command }: FailureContext): FailureReport {
  const said = diagnostics.filter((one) => !/^(?:update|preview) failed/.test(one.message));
  const first = said.find((one) => one.resource !== null) ?? said[0];
  if (first === undefined) {
    const line = /^\s*error: (.+)$/m.exec(text)?.[1];
    return reportOf(line === undefined ? `\`cairn infra ${command}\` failed` : redact(line));
  }
  const report = reportOf(first.message);
  if (first.resource === null) return report;
  const others = new Set(said.flatMap(({ resource }) => resource ?? []));
  others.delete(first.resource);
  const also = others.size === 0 ? "" : ` Failed as well: ${[...others].join(", ")}.`;
  return { ...report, sentence: `${first.resource}: ${report.sentence}${also}` };
}

function unexpected(thrown: unknown, { command, redact }: FailureContext): InfraError {
  const words = thrown instanceof Error ? redact(thrown.message) : "";
  const { sentence, lastWords } = reportOf(words || `\`cairn infra ${command}\` failed`);
  return new InfraError("INFRA_FAILED", sentence, { cause: thrown, lastWords });
}

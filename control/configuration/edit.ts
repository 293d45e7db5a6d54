/**
 * Changes cairn.yaml in place: comments, unknown keys and `${NAME}` references stay as they are. The changed text is
 * checked before it counts, and written in one atomic step. Used by every command that edits the configuration.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTwoFilesPatch } from "diff";
import { type Document, parseDocument } from "yaml";
import {
  CONFIG_FILE,
  type Config,
  type ConfigIssue,
  createRedactor,
  type Inspection,
  type LoadedConfig,
} from "../../runtime/config/index.ts";
import { hasReference, isSecretReference } from "../../runtime/config/references.ts";
import { holdsSecret, isSecretPath, secretsIn } from "../../runtime/config/secret-values.ts";
import { formatPath, texts } from "../../runtime/config/tree.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import type { Deployment } from "../service/deployment.ts";
import { type Current, inspectCurrent } from "./current.ts";
import { keepLayout } from "./keep-layout.ts";
import { replaceConfiguration, requireUnchanged } from "./replace.ts";

export interface Edit {
  readonly file: string;
  readonly changed: boolean;
  /** Unified diff with secrets taken out; empty when nothing changed. */
  readonly diff: string;
  /** Consequences of the change that the operator should review. */
  readonly warnings: readonly ConfigIssue[];
  /** Variables that the changed file refers to and that are not set yet. */
  readonly missing: readonly string[];
}

export interface EditOptions {
  /** Show what would change, and change nothing. */
  readonly dryRun?: boolean;
  /** What has to be there before the file counts: when it rejects, the file stays as it was. */
  readonly prepare?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

/** Changes the document; `config` is what the same text says, null where that is not valid. */
export type Change = (document: Document, config: Config | null) => void;

/** An edit that is worked out and not yet written. */
export interface PlannedEdit extends Edit {
  /** The file as it was read. */
  readonly before: string;
  readonly after: string;
  /** What the changed file says; null where it has errors, which it had before. */
  readonly loaded: LoadedConfig | null;
}

const CONTEXT_LINES = 3;
const YAML_STYLE = { lineWidth: 0, flowCollectionPadding: true } as const;

/**
 * Applies `change` to the document. CONFIG_INVALID when the result has an error that the file did not have before;
 * CONFIG_UNREADABLE, CONFIG_VERSION_UNSUPPORTED as `inspectConfig`; CONFIG_UNWRITABLE; RUNTIME_CONFLICT when another edit
 * changed the file meanwhile. Whatever `change` throws leaves the file as it was.
 */
export async function editConfiguration(
  deployment: Deployment,
  change: Change,
  { dryRun = false, prepare, signal }: EditOptions = {},
): Promise<Edit> {
  const planned = await planEdit(deployment, change, { ...(signal ? { signal } : {}) });
  const { file, changed } = planned;
  if (changed && !dryRun) {
    await prepare?.();
    await replaceConfiguration({ file, expected: planned.before, text: planned.after });
  }
  return editOf(planned);
}

/** What `editConfiguration` would write. Its errors, but for those of writing. */
export async function planEdit(
  deployment: Pick<Deployment, "dir" | "home" | "file">,
  change: Change,
  { signal }: Pick<EditOptions, "signal"> = {},
): Promise<PlannedEdit> {
  const { file } = deployment;
  // A file that cannot be read is the inspection's to report.
  const text = await readFile(file, "utf8").catch(() => "");
  const { inspection: before } = await inspectCurrent(deployment, { signal });
  await requireUnchanged(file, text);
  // With carriage returns the library keeps some of them inside comments.
  const document = parseDocument(text.replaceAll("\r\n", "\n"));
  const [broken] = document.errors;
  if (broken) throw before.error ?? new ConfigError("CONFIG_INVALID", broken.message);
  const unchanged = document.toString(YAML_STYLE);
  change(document, before.loaded?.config ?? null);
  const asked = document.toString(YAML_STYLE);
  if (asked === unchanged) {
    const { loaded } = before;
    return { file, changed: false, diff: "", warnings: [], missing: [], before: text, after: text, loaded };
  }
  const changed = keepLayout({ text, unchanged, changed: asked });

  const { inspection: after, missing } = await inspectText(changed, deployment, signal);
  refuseNewErrors(before, after);
  refuseNewSecrets(text, changed);
  const warnings = newIssues(before.warnings, after.warnings);
  const redact = createRedactor([...secretsOf(before, text), ...secretsOf(after, changed)]);
  const patch = createTwoFilesPatch(CONFIG_FILE, CONFIG_FILE, text, changed, "", "", { context: CONTEXT_LINES });
  // Without the ruler above it, which only the patch tool needs, and the carriage returns of the file.
  const diff = redact(patch.slice(patch.indexOf("--- ")).replace(/[\t\r]+$/gm, ""));
  return { file, changed: true, diff, warnings, missing, before: text, after: changed, loaded: after.loaded };
}

/** What a command tells of it. */
export function editOf({ file, changed, diff, warnings, missing }: PlannedEdit): Edit {
  return { file, changed, diff, warnings, missing };
}

/** `${NAME}` and no more. */
const WHOLE_REFERENCE = /^\$\{\w+\}$/;

/** From the loader, and from the file itself: the loader gives nothing of a file that is not valid. */
function secretsOf({ loaded }: Inspection, text: string): string[] {
  const written = [...texts(parseDocument(text).toJS())]
    .filter(({ path, text: value }) => isSecretPath(path) && !hasReference(value) && !isSecretReference(value))
    .flatMap(({ text: value }) => secretsIn(value));
  // For a variable that is not set the loader was given the reference itself, which is no secret and is to be seen.
  const resolved = (loaded?.secrets ?? []).filter((value) => !WHOLE_REFERENCE.test(value));
  return [...resolved, ...written];
}

/** The changed text, from a file of its own, as if it were the deployment's. */
async function inspectText(
  text: string,
  deployment: Pick<Deployment, "dir" | "home">,
  signal?: AbortSignal,
): Promise<Current> {
  const staged = await mkdtemp(join(tmpdir(), "cairn-edit-"));
  try {
    const file = join(staged, CONFIG_FILE);
    await writeFile(file, text, { mode: 0o600 });
    return await inspectCurrent(deployment, { staged: file, signal });
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/** A file that was wrong already may be repaired step by step; an edit adds nothing that is wrong. */
function refuseNewErrors(before: Inspection, after: Inspection): void {
  const added = newIssues(before.errors, after.errors);
  if (added.length === 0) return;
  const lines = added.map((issue) => `  ${issue.path}: ${issue.message}`);
  throw new ConfigError("CONFIG_INVALID", ["That would not be a valid configuration:", ...lines].join("\n"), {
    issues: added,
    hint: "Nothing was changed.",
  });
}

/** What is there already is warned of elsewhere; an edit puts no secret into a file that is made to be kept in git. */
function refuseNewSecrets(before: string, after: string): void {
  const existing = new Set([...texts(parseDocument(before).toJS())].map(({ text }) => text));
  const [added] = [...texts(parseDocument(after).toJS())].filter(
    ({ text }) => holdsSecret(text) && !existing.has(text),
  );
  if (added === undefined) return;
  const path = formatPath(added.path);
  const message = "it looks like a key or a password, and cairn.yaml holds none";
  throw new ConfigError("CONFIG_INVALID", `${path}: ${message}.`, {
    issues: [{ path, message }],
    hint: "Nothing was changed. Write it into .env as NAME=... and refer to it as ${NAME}.",
  });
}

function newIssues(before: readonly ConfigIssue[], after: readonly ConfigIssue[]): ConfigIssue[] {
  const existing = new Set(before.map(keyOf));
  return after.filter((issue) => !existing.has(keyOf(issue)));
}

function keyOf({ path, message }: ConfigIssue): string {
  return `${path} ${message}`;
}

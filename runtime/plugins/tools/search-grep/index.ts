/** search_grep: lines of the workspace's files that a regular expression matches, in the order of paths. */

import { ToolError } from "../../../contracts/errors.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { requiredLiteral } from "../../../domain/required-literal.ts";
import {
  booleanArgument,
  optionalInteger,
  optionalString,
  requireContext,
  stringArgument,
} from "../shared/arguments.ts";
import type { Located, WorkspaceGate } from "../shared/locate.ts";
import type { FoundFile, SearchScope, TextPattern } from "../shared/search/messages.ts";
import { filesWithText } from "../shared/search/ripgrep.ts";
import { locateScope, MAX_GLOB, SCOPE_PARAMETERS } from "../shared/search/scope.ts";
import { createSearchThreads } from "../shared/search/threads.ts";
import { renderLines } from "./render.ts";

const DEFAULT_MATCHES = 100;
const MAX_MATCHES = 1_000;
const MAX_PATTERN = 1_000;
const MAX_CONTEXT = 10;
const DEADLINE_MS = 20_000;

export interface SearchGrepDeps {
  readonly gate: WorkspaceGate;
  /** Directories that ripgrep may be in, as PATH has them. */
  readonly searchPath: string | undefined;
}

export function createSearchGrepTool({ gate, searchPath }: SearchGrepDeps): Tool {
  const threads = createSearchThreads();
  return {
    name: "search_grep",
    description:
      "Search the text of the workspace's files, line by line, by a JavaScript regular expression (flag u: lookaround and \\p{...} work, " +
      "(?i) does not; see `ignore_case`). Lines come numbered: `number:` matches, `number-` is context. Hidden and binary files and those " +
      "that .gitignore leaves out are skipped, and links are not followed.",
    parameters: {
      type: "object",
      properties: {
        pattern: {
          type: "string",
          minLength: 1,
          maxLength: MAX_PATTERN,
          description: "Of one line: it never spans several.",
        },
        literal: { type: "boolean", description: "Take the pattern as plain text; default false." },
        ignore_case: { type: "boolean", description: "Default false." },
        ...SCOPE_PARAMETERS,
        path: {
          type: "string",
          description: "File or directory to search, relative to the workspace; default all of it.",
        },
        glob: {
          type: "string",
          minLength: 1,
          maxLength: MAX_GLOB,
          description:
            "Only files that match it, such as `*.ts` (names at any depth) or `src/**/*.ts` (relative to `path`).",
        },
        files_only: { type: "boolean", description: "Only the names of files with a match; default false." },
        context: {
          type: "integer",
          minimum: 0,
          maximum: MAX_CONTEXT,
          description: "Lines around each match; default 0.",
        },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_MATCHES,
          description: `Matching lines, or files, to show; default ${DEFAULT_MATCHES}.`,
        },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    parallel: true,
    pathArguments: ["path"],
    async execute(args, signal, context) {
      const { workspace } = requireContext(context);
      const pattern = patternOf(args);
      const limit = optionalInteger(args, "limit", 1, MAX_MATCHES) ?? DEFAULT_MATCHES;
      const filesOnly = booleanArgument(args, "files_only", false);
      const { located, scope } = await locateScope(gate, workspace, args, optionalString(args, "glob"));
      const lines = {
        kind: "lines",
        pattern,
        context: optionalInteger(args, "context", 0, MAX_CONTEXT) ?? 0,
        filesOnly,
        limit,
        deadlineMs: DEADLINE_MS,
      } as const;
      const result = await threads.run(async () => {
        const only = await candidates(scope, pattern, searchPath, signal);
        return { ...lines, scope: only === null ? scope : { ...scope, only } };
      }, signal);
      const files = await withoutProtected(gate, located, result.files);
      return { content: renderLines({ ...result, files }, filesOnly) };
    },
  };
}

/** TOOL_INVALID_ARGUMENTS for what is no regular expression. */
function patternOf(args: Readonly<Record<string, unknown>>): TextPattern {
  const pattern = stringArgument(args, "pattern");
  const ignoreCase = booleanArgument(args, "ignore_case", false);
  const source = booleanArgument(args, "literal", false) ? pattern.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") : pattern;
  try {
    new RegExp(source, "u");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "it cannot be read";
    throw new ToolError("TOOL_INVALID_ARGUMENTS", `pattern is no JavaScript regular expression: ${reason}.`, {
      cause,
      hint: "Escape what is meant as itself, or set literal.",
    });
  }
  return { source, ignoreCase, literal: requiredLiteral(source) };
}

/** Null where every file has to be opened. */
async function candidates(
  scope: SearchScope,
  { literal, ignoreCase }: TextPattern,
  searchPath: string | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly string[] | null> {
  if (scope.isFile || literal === null) return null;
  return filesWithText({ ...scope, literal, ignoreCase }, searchPath, signal);
}

/** A file with a second name may be one of the service's own, linked into the workspace. */
async function withoutProtected(
  gate: WorkspaceGate,
  located: Located,
  files: readonly FoundFile[],
): Promise<readonly FoundFile[]> {
  const kept: FoundFile[] = [];
  for (const file of files) {
    const display = file.components.join("/");
    const isShown =
      file.linked === undefined ||
      (await gate.assertNotProtected({ ...located, display }, file.linked).then(
        () => true,
        () => false,
      ));
    if (isShown) kept.push(file);
  }
  return kept;
}

/** search_glob: files of the workspace by their names, the newest first. */

import type { Tool } from "../../../contracts/tool.ts";
import { optionalInteger, requireContext, stringArgument } from "../shared/arguments.ts";
import type { WorkspaceGate } from "../shared/locate.ts";
import type { SearchResult } from "../shared/search/messages.ts";
import { locateScope, MAX_GLOB, SCOPE_PARAMETERS, shownPath } from "../shared/search/scope.ts";
import { createSearchThreads } from "../shared/search/threads.ts";

const DEFAULT_FILES = 100;
const MAX_FILES = 1_000;
const MAX_CHARS = 30_000;
const DEADLINE_MS = 20_000;

export function createSearchGlobTool(deps: { readonly gate: WorkspaceGate }): Tool {
  const threads = createSearchThreads();
  return {
    name: "search_glob",
    description:
      "Find files of the workspace by a glob such as `src/**/*.ts`; a glob without a slash matches names at any depth. The most recently " +
      "changed files come first. Hidden files and those that .gitignore leaves out are skipped, and links are not followed.",
    parameters: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, maxLength: MAX_GLOB, description: "Relative to `path`." },
        ...SCOPE_PARAMETERS,
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_FILES,
          description: `Files to show; default ${DEFAULT_FILES}.`,
        },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    parallel: true,
    pathArguments: ["path"],
    async execute(args, signal, context) {
      const { workspace } = requireContext(context);
      const limit = optionalInteger(args, "limit", 1, MAX_FILES) ?? DEFAULT_FILES;
      const { scope } = await locateScope(deps.gate, workspace, args, stringArgument(args, "pattern"));
      const result = await threads.run(() => ({ kind: "files", scope, limit, deadlineMs: DEADLINE_MS }), signal);
      return { content: render(result) };
    },
  };
}

function render({ files, matches, cut }: SearchResult): string {
  const lines: string[] = [];
  let chars = 0;
  for (const { components } of files) {
    const line = shownPath(components);
    chars += line.length + 1;
    if (chars > MAX_CHARS) break;
    lines.push(line);
  }
  const time = cut === "time" ? "; the time was over before all directories were searched: use a narrower path" : "";
  if (lines.length === 0) return `(no files match${time})`;
  const count =
    lines.length < matches
      ? `the newest ${lines.length} of ${matches} files; use a narrower glob or path`
      : `${matches} files`;
  return [...lines, `(${count}${time})`].join("\n");
}

/** file_read: a text file of the workspace with line numbers, whole or a range of it. */

import type { Tool } from "../../../contracts/tool.ts";
import { optionalInteger, requireContext, stringArgument } from "../shared/arguments.ts";
import type { WorkspaceGate } from "../shared/locate.ts";
import { readText, withParent } from "../shared/read-text.ts";
import { renderLines } from "./render-lines.ts";

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const DEFAULT_LINES = 2_000;

export function createFileReadTool(deps: { readonly gate: WorkspaceGate }): Tool {
  return {
    name: "file_read",
    description:
      "Read a text file of the workspace. Lines come numbered (`number<TAB>text`). " +
      `At most ${DEFAULT_LINES} lines unless \`limit\` says otherwise; the last line tells how to go on when there is more.`,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "Relative to the workspace, or absolute inside it." },
        offset: { type: "integer", minimum: 1, description: "First line to read, counting from 1." },
        limit: { type: "integer", minimum: 1, description: `How many lines to read; default ${DEFAULT_LINES}.` },
      },
      required: ["path"],
      additionalProperties: false,
    },
    parallel: true,
    pathArguments: ["path"],
    async execute(args, signal, context) {
      const { workspace } = requireContext(context);
      const offset = optionalInteger(args, "offset", 1, Number.MAX_SAFE_INTEGER) ?? 1;
      const limit = optionalInteger(args, "limit", 1, Number.MAX_SAFE_INTEGER) ?? DEFAULT_LINES;
      const located = await deps.gate.locate(workspace, stringArgument(args, "path"));
      const file = await withParent(located, false, (directory, name) =>
        readText(deps.gate, directory, name, located, MAX_FILE_BYTES, signal),
      );
      return { content: renderLines(file.text, { offset, limit }, file.encoding) };
    },
  };
}

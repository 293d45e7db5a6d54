/** file_edit: an exact replacement in a file of the workspace; everything else in the file stays, byte for byte. */

import { ToolError } from "../../../contracts/errors.ts";
import type { NewId } from "../../../contracts/ports.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { FileChangedError, temporaryName, versionOf, writeAtomically } from "../../../files/atomic-write.ts";
import { booleanArgument, requireContext, stringArgument } from "../shared/arguments.ts";
import { assertNotInGit, type WorkspaceGate } from "../shared/locate.ts";
import { readText, withParent } from "../shared/read-text.ts";
import { encodeText } from "../shared/text-format.ts";
import { replaceExactly } from "./replace-exactly.ts";

const MAX_FILE_BYTES = 16 * 1024 * 1024;

export function createFileEditTool(deps: { readonly gate: WorkspaceGate; readonly newId: NewId }): Tool {
  return {
    name: "file_edit",
    description:
      "Replace text in a file of the workspace. `old_string` must occur exactly once, character for character " +
      "(without the line numbers of file_read), unless `replace_all` is true.",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "Relative to the workspace, or absolute inside it." },
        old_string: { type: "string", minLength: 1, description: "The text to replace." },
        new_string: { type: "string", description: "The text that takes its place." },
        replace_all: { type: "boolean", default: false, description: "Replace every occurrence." },
      },
      required: ["path", "old_string", "new_string"],
      additionalProperties: false,
    },
    pathArguments: ["path"],
    changedArguments: ["path"],
    async execute(args, signal, context) {
      const { workspace } = requireContext(context);
      const edit = {
        oldText: stringArgument(args, "old_string"),
        newText: stringArgument(args, "new_string"),
        all: booleanArgument(args, "replace_all", false),
        longest: MAX_FILE_BYTES,
      };
      const located = await deps.gate.locate(workspace, stringArgument(args, "path"));
      assertNotInGit(located);
      const report = await withParent(located, false, async (directory, name) => {
        const file = await readText(deps.gate, directory, name, located, MAX_FILE_BYTES, signal);
        const outcome = replaceExactly(file.text, edit);
        if (!outcome.ok) throw new ToolError("TOOL_INVALID_ARGUMENTS", `${located.display}: ${outcome.reason}`);
        const data = encodeText(outcome.text, file);
        if (!data) {
          throw new ToolError(
            "TOOL_INVALID_ARGUMENTS",
            `${located.display}: the file is ${file.encoding} text and cannot hold a character of new_string.`,
          );
        }
        try {
          await writeAtomically(directory, name, data, {
            temporary: temporaryName(deps.newId()),
            expected: versionOf(file.stats),
            ...(signal ? { signal } : {}),
          });
        } catch (error) {
          if (!(error instanceof FileChangedError)) throw error;
          throw new ToolError(
            "TOOL_FAILED",
            `${located.display}: the file was changed by someone else at the same time; read it again.`,
            { cause: error },
          );
        }
        return outcome;
      });
      const places =
        report.lines.length > 10 ? `${report.lines.slice(0, 10).join(", ")}, ...` : report.lines.join(", ");
      const count = report.lines.length === 1 ? "1 occurrence" : `${report.lines.length} occurrences`;
      return { content: `Replaced ${count} in ${located.display} (line ${places}).` };
    },
  };
}

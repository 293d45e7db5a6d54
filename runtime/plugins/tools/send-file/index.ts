/** send_file: a file of the workspace for the turn's user, in the conversation that the turn belongs to. */

import { ToolError } from "../../../contracts/errors.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { MAX_FILE_BYTES, MAX_FILE_NAME, mediaTypeOf } from "../../../domain/outgoing-file.ts";
import { statEntry } from "../../../files/directory.ts";
import { isUnchanged } from "../../../files/read-file.ts";
import { FileRefused } from "../../../files/refusal.ts";
import { optionalString, requireContext, stringArgument } from "../shared/arguments.ts";
import type { Located, WorkspaceGate } from "../shared/locate.ts";
import { readWhole, withParent } from "../shared/read-text.ts";

const MAX_CAPTION = 1_000;

export function createSendFileTool(deps: { readonly gate: WorkspaceGate }): Tool {
  /** As it is at one moment. */
  async function read(located: Located, signal: AbortSignal | undefined): Promise<Buffer> {
    return withParent(located, false, async (directory, name) => {
      const limits = { maxBytes: MAX_FILE_BYTES, signal };
      const { bytes, stats } = await readWhole(deps.gate, directory, name, located, limits).catch((error: unknown) => {
        if (!(error instanceof FileRefused && error.reason === "too_large")) throw error;
        throw new ToolError(
          "TOOL_INVALID_ARGUMENTS",
          `${located.display}: it is too large; at most ${MAX_FILE_BYTES} bytes are sent.`,
          { cause: error, hint: "Compress it, or send a part of it." },
        );
      });
      const now = await statEntry(directory, name);
      if (now !== null && isUnchanged(stats, now) && bytes.length === stats.size) return bytes;
      throw new ToolError("TOOL_FAILED", `${located.display}: it changed while it was read.`, {
        hint: "Send it when what writes it has ended.",
      });
    });
  }

  return {
    name: "send_file",
    description:
      "Send a file of the workspace to the user, in this conversation. It is sent before what you write next. " +
      "Use it for what the user wants to have as a file; short texts belong into the reply.",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "Relative to the workspace, or absolute inside it." },
        name: {
          type: "string",
          minLength: 1,
          maxLength: MAX_FILE_NAME,
          description: "What it is called for the user; default: its own name.",
        },
        caption: { type: "string", maxLength: MAX_CAPTION, description: "Text that goes with it." },
      },
      required: ["path"],
      additionalProperties: false,
    },
    pathArguments: ["path"],
    async execute(args, signal, context) {
      const { workspace, sendFile } = requireContext(context);
      const located = await deps.gate.locate(workspace, stringArgument(args, "path"));
      const data = await read(located, signal);
      const name = optionalString(args, "name") ?? located.components.at(-1) ?? "";
      const mediaType = mediaTypeOf(name, data);
      await sendFile({ name, mediaType, data, caption: optionalString(args, "caption") ?? "" });
      return { content: `${name} (${mediaType}, ${data.length} bytes) is sent to the user.` };
    },
  };
}

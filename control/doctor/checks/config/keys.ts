/** Keys of the configuration that nothing reads: most often they are misspelt. */

import { renameKeys } from "../../repair/rename-keys.ts";
import { type Check, pass, Unavailable, warn } from "../check.ts";
import { counted, issueLine } from "./issues.ts";

export const configKeys: Check = {
  id: "config.keys",
  subject: "keys of the configuration that are not known",
  async run(context) {
    const snapshot = await context.configuration();
    if (!("warnings" in snapshot))
      throw new Unavailable("The configuration cannot be validated.", ["config.present", "config.syntax"]);
    const unknown = snapshot.warnings.filter(({ code }) => code === "unknown-key");
    if (unknown.length === 0) return pass("All keys of the configuration are known.");
    const after = await renameKeys(snapshot, context.paths, await context.environment());
    const lines = unknown.map(issueLine);
    return warn(
      lines.length === 1
        ? `Unknown in cairn.yaml: ${lines[0]}.`
        : `cairn.yaml has ${counted(lines.length, "unknown key")}.`,
      after === null ? "Correct the keys, or remove them." : "Correct the keys, or let `cairn doctor --fix` do it.",
      {
        details: lines,
        repairs: after === null ? [] : [{ kind: "change", path: context.paths.file, before: snapshot.text, after }],
      },
    );
  },
};

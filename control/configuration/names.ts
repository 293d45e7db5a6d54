/** Names that are given on the command line, by the configuration's own rule. */
import { name } from "../../runtime/config/schema/scalars.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";

/** CONFIG_INVALID for a name that could not stand in cairn.yaml. `of` is `an agent's name` or the like. */
export function requireName(given: string, of: string): void {
  const { success, error } = name(of).safeParse(given);
  if (success) return;
  throw new ConfigError("CONFIG_INVALID", `${JSON.stringify(given)} cannot be ${error.issues[0]?.message ?? of}.`, {
    hint: "Nothing was changed. Choose another name.",
  });
}

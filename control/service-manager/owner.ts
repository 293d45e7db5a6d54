/** Whose a service is: the deployment directory that its file names. */

import { realpath } from "node:fs/promises";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { shellWord } from "../../runtime/contracts/shell-quote.ts";
import { unescapeXml } from "./launchd.ts";
import type { ServiceDescription } from "./service.ts";

/** A name is one deployment's: a command for another one would end the first one's node. RUNTIME_CONFLICT, with the way out. */
export async function refuseOfAnother(
  existing: string | null,
  { name, scope }: Pick<ServiceDescription, "name" | "scope">,
  dir: string,
): Promise<void> {
  const owner = directoryOf(existing);
  if (owner === null || (await realPath(owner)) === (await realPath(dir))) return;
  const uninstall = `cairn service uninstall --${scope} --name ${name} --dir ${shellWord(owner)}`;
  throw new RuntimeError("RUNTIME_CONFLICT", `The service ${name} runs the deployment in ${owner}.`, {
    hint: `Choose another name with --name, or remove that one with \`${uninstall}\`.`,
  });
}

function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** The deployment directory that the file names; null where it names none. */
function directoryOf(content: string | null): string | null {
  const unit = /^WorkingDirectory=(.*)$/m.exec(content ?? "")?.[1];
  if (unit !== undefined) return unit.replaceAll("%%", "%");
  const plist = /<key>WorkingDirectory<\/key>\s*<string>(.*)<\/string>/.exec(content ?? "")?.[1];
  return plist === undefined ? null : unescapeXml(plist);
}

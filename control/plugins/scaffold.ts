/** `plugin init`: a new plugin from the template, which Node runs as it is and which passes its own test. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isOwnId } from "../../runtime/config/plugins.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { PLUGIN_ID } from "../../runtime/contracts/plugin.ts";
import { codeOf, systemWords } from "../../runtime/contracts/system-errors.ts";
import { templateDirectory } from "../wizard/templates.ts";

/** Those whose template passes the checks; a provider or channel needs a fake of its service first. */
export const SCAFFOLDED_KINDS = ["tool", "hook"] as const;
export type ScaffoldedKind = (typeof SCAFFOLDED_KINDS)[number];

export interface ScaffoldedPlugin {
  readonly name: string;
  readonly kind: ScaffoldedKind;
  /** Absolute path of its folder. */
  readonly path: string;
  /** Relative to it. */
  readonly files: readonly string[];
}

/** Below the template, and the name in the plugin: npm leaves out a file that is called .gitignore. */
const FILES = (kind: ScaffoldedKind): readonly (readonly [from: string, to: string])[] => [
  [`${kind}/package.json`, "package.json"],
  ["common/tsconfig.json", "tsconfig.json"],
  [`${kind}/index.ts`, "index.ts"],
  [`${kind}/index.test.ts`, "index.test.ts"],
  ["common/README.md", "README.md"],
  ["common/gitignore", ".gitignore"],
];

/** Of the packages that only its author needs. */
const PINS = { CAIRN: "", NODE_TYPES: "24.19.2", TYPESCRIPT: "6.0.3" };

/**
 * `directory` is made where it is missing; `cairn` is what npm installs for the plugin's tests. RUNTIME_INVALID_REQUEST for a name that no
 * plugin may have, or a directory that cannot be written; RUNTIME_CONFLICT where something is there.
 */
export async function scaffoldPlugin(
  directory: string,
  { name, kind, cairn }: { readonly name: string; readonly kind: ScaffoldedKind; readonly cairn: string },
): Promise<ScaffoldedPlugin> {
  requirePluginName(name);
  const path = join(directory, name);
  const words = { ...PINS, CAIRN: cairn, NAME: name, KIND: kind };
  const files = await Promise.all(
    FILES(kind).map(async ([from, to]) => {
      const text = await readFile(join(templateDirectory(), "plugin", from), "utf8");
      return [
        to,
        Object.entries(words).reduce((filled, [word, value]) => filled.replaceAll(word, value), text),
      ] as const;
    }),
  );
  try {
    await mkdir(dirname(path), { recursive: true });
    await mkdir(path);
    for (const [file, text] of files) await writeFile(join(path, file), text, { flag: "wx" });
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") {
      throw new RuntimeError("RUNTIME_CONFLICT", `${path} is there already.`, { hint: "Choose another name.", cause });
    }
    const { reason, hint = "Choose another directory with --in." } = systemWords(cause);
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${path} cannot be written (${reason}).`, { hint, cause });
  }
  return { name, kind, path, files: files.map(([file]) => file) };
}

function requirePluginName(name: string): void {
  if (!PLUGIN_ID.test(name) || name.includes("__")) {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${name} is no name of a plugin.`, {
      hint: "A name has 1 to 63 small letters, digits, - and single _, and begins with a letter.",
    });
  }
  if (!isOwnId(name)) return;
  throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${name} is a name of Cairn's own.`, {
    hint: "Choose another: no plugin takes the place of what comes with Cairn.",
  });
}

/** The files that `init` starts from, in `templates/` beside package.json: the same from sources and from `dist`. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface Templates {
  readonly config: string;
  readonly gitignore: string;
  readonly secretsHead: string;
  /** File name to content, sorted by name. */
  readonly workspace: readonly (readonly [name: string, content: string])[];
}

export async function readTemplates(directory = templateDirectory()): Promise<Templates> {
  const workspaceDirectory = join(directory, "workspace");
  const read = (...path: string[]) => readFile(join(directory, ...path), "utf8");
  const names = (await readdir(workspaceDirectory)).filter((name) => name.endsWith(".md")).sort();
  const [config, gitignore, secretsHead, workspace] = await Promise.all([
    read("cairn.yaml"),
    read("gitignore"),
    read("env"),
    Promise.all(names.map(async (name) => [name, await read("workspace", name)] as const)),
  ]);
  return { config, gitignore, secretsHead, workspace };
}

/** Goes up from this file until the package's templates are found. */
export function templateDirectory(from = import.meta.dirname): string {
  for (let at = from; ; at = dirname(at)) {
    const candidate = join(at, "templates");
    if (existsSync(join(candidate, "cairn.yaml")) && existsSync(join(at, "package.json"))) return candidate;
    if (dirname(at) === at)
      throw new Error(`The templates of this installation are missing (looked upwards from ${from}).`);
  }
}

/** Where the templates of the rendered project lie: in `templates/infra` beside package.json, from sources and from `dist`. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The directory of this installation: the one with package.json. */
export function packageDirectory(from = import.meta.dirname): string {
  for (let at = from; ; at = dirname(at)) {
    if (existsSync(join(at, "package.json")) && existsSync(join(at, "templates", "infra"))) return at;
    if (dirname(at) === at) {
      throw new Error(`The templates of this installation are missing (looked upwards from ${from}).`);
    }
  }
}

export function templateDirectory(): string {
  return join(packageDirectory(), "templates", "infra");
}

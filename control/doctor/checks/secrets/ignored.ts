/** Whether git would take secrets or the node's state along: `.env`, keys, tokens, the store. */

import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type Config, isPem } from "../../../../runtime/config/config.ts";
import { shellWord } from "../../../../runtime/contracts/shell-quote.ts";
import { readTemplates } from "../../../wizard/templates.ts";
import { git, repositoryOf } from "../../context/git.ts";
import { readOwnFile } from "../../context/regular-file.ts";
import type { Repair } from "../../repair/repair.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

/** In the deployment directory: what holds secrets, copies that may, and backups, which hold every conversation. */
const SECRETS = ".env";
const COPIES = ["cairn.yaml.bak", "a.backup", "backups/a.backup"];
/** What a deployment's state keeps secret. */
const INFRA = ["infra/.passphrase", "infra/state", "infra/state-copies", "infra/lost", "infra/deployed", "infra/logs"];
const SECRET_NAME = /^\.env(?:\.|$)|\.bak(?:-|$)|\.(?:key|pem|p12|pfx|backup)$/;
/** In the home: files that may exist at some time, each with a token, a key or a conversation. */
const STATE = [
  "node/node-24",
  "node.key",
  "tls.key",
  "capture/token",
  "credentials/anthropic.json",
  "store/PG_VERSION",
  "store.moved-20300131T020304Z/PG_VERSION",
  "logs/cairn.1.log",
  "run/node.json",
  "spool/1.json",
  "attachments/1",
  "workspaces/main",
];

export const secretsIgnored: Check = {
  id: "secrets.ignored",
  subject: "whether git ignores secrets",
  async run(context, signal) {
    const { dir, home } = context.paths;
    if ((await repositoryOf(dir)) === null) return skip("The deployment directory is not in a git repository.");
    if (!(await context.probe.hasTool("git"))) return skip("The git command is not installed.");
    const inside = home === null ? null : await placeInside(dir, home);
    const state = inside === null ? [] : STATE.map((path) => join(inside, path));
    const entries = [SECRETS, ...state.map((path) => (path.endsWith(".key") ? path : dirname(path)))];
    const tracked = await git(dir, ["ls-files", "-z", "--", ...entries], signal);
    const files = tracked.code === 0 ? tracked.stdout.split("\0").filter((path) => path !== "") : [];
    const kept = entries.filter((entry) => files.some((file) => file === entry || file.startsWith(`${entry}/`)));
    if (kept.length > 0) {
      return fail(
        `git keeps ${kept.join(", ")}: everybody with access to the repository can read the secrets.`,
        `Run \`git -C ${shellWord(dir)} rm -r --cached ${kept.map(shellWord).join(" ")}\`, commit that, and change the secrets: the history still has them.`,
      );
    }
    const config = await context.configuration();
    const keys = config.state === "valid" ? keyInside(dir, config.config.runtime.tls) : [];
    const named = await existing(dir, [...INFRA, ...keys]);
    const present = [
      ...(await secretsIn(dir)),
      ...(inside ? (await secretsIn(home ?? dir)).map((name) => join(inside, name)) : []),
      ...named,
    ];
    const paths = [...new Set([SECRETS, ...COPIES, ...state, ...present])];
    const ignored = await git(dir, ["check-ignore", "--", ...paths], signal);
    if (ignored.code !== 0 && ignored.code !== 1)
      return skip(`git does not say what it ignores: ${ignored.stderr.trim().split("\n")[0] || "no reason given"}.`);
    const covered = new Set(ignored.stdout.split("\n"));
    const open = paths.filter((path) => !covered.has(path));
    if (open.length === 0) return pass("git ignores .env, backups and the node's state.");
    return warn(
      `git does not ignore ${open.join(", ")}: the next commit may include it.`,
      "Add the lines of the template to .gitignore: `cairn doctor --fix` does it.",
      {
        repairs: [
          await ignore(
            dir,
            inside,
            named.filter((path) => open.includes(path)),
          ),
        ],
      },
    );
  },
};

/** Files of a directory whose names say that they hold secrets, or copies of what does. */
async function secretsIn(dir: string): Promise<readonly string[]> {
  const names = await readdir(dir).catch(() => []);
  return names.filter((name) => SECRET_NAME.test(name) && name !== ".env.example");
}

async function existing(dir: string, paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      stat(join(dir, path)).then(
        () => [path],
        () => [],
      ),
    ),
  );
  return found.flat();
}

/** The key of the node's certificate, where it lies in the deployment directory. */
function keyInside(dir: string, tls: Config["runtime"]["tls"]): readonly string[] {
  if (typeof tls === "string" || isPem(tls.key)) return [];
  const path = relative(dir, resolve(dir, tls.key));
  return path === "" || path === ".." || path.startsWith("../") ? [] : [path];
}

/** The home's path from the deployment directory, empty where it is the same; null for one that is elsewhere. */
async function placeInside(dir: string, home: string): Promise<string | null> {
  const [from = dir, to = home] = await Promise.all([dir, home].map((path) => realpath(path).catch(() => path)));
  const path = relative(from, to);
  return path === ".." || path.startsWith("../") ? null : path;
}

/** The directory may be one that agents write to: a link in the file's place is not followed. */
async function ignore(root: string, home: string | null, named: readonly string[]): Promise<Repair> {
  const path = join(root, ".gitignore");
  const [{ gitignore }, before] = await Promise.all([readTemplates(), readOwnFile(root, ".gitignore")]);
  const wanted = [gitignore.trimEnd(), ...[...(home ? [`${home}/`] : []), ...named].map((path) => `/${path}`), ""].join(
    "\n",
  );
  if (before === null) return { kind: "create", path, root, after: wanted, mode: 0o644 };
  const present = new Set(before.split(/\r?\n/).map((line) => line.trim()));
  const missing = wanted.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !present.has(line));
  const head = before === "" || before.endsWith("\n") ? before : `${before}\n`;
  return { kind: "change", path, root, before, after: `${head}${missing.join("\n")}\n` };
}

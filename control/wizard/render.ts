/** The outcome of a setup in words. */
import { SECRETS_FILE } from "../../runtime/config/index.ts";
import type { Mark } from "../output/terminal.ts";
import type { InitResult } from "./init.ts";

export function renderInit(result: InitResult, mark: Mark): string {
  const { agent, provider, dir, memory, listen, token } = result;
  const model = provider.model === undefined ? "" : `, model ${provider.model}`;
  const tokens = {
    generated: `a new one, in ${SECRETS_FILE}`,
    file: `the one in ${SECRETS_FILE}`,
    environment: "the one in the environment",
  };
  const workspace = result.files.filter(({ path }) => path.startsWith("workspace/"));
  const rows = [
    ["Provider", `${provider.id}${model} (${provider.reason})`],
    ["Agent", agent],
    ["Memory", memory],
    ["Address", `http://${listen}`],
    ["Token", tokens[token]],
  ];
  const lines = result.files
    .filter(({ path }) => !path.startsWith("workspace/"))
    .map(({ path, action }) => `  ${path} ${mark.dim(action)}`);
  const created = workspace.filter(({ action }) => action === "created").length;
  if (workspace.length > 0) lines.push(`  workspace/ ${mark.dim(`${created} of ${workspace.length} files created`)}`);
  const done = result.recovered ? "An interrupted setup was finished" : "Set up";
  return [
    `${mark.good(done)} in ${mark.name(dir)}`,
    ...lines,
    "",
    ...rows.map(([label = "", value = ""]) => `  ${mark.dim(label.padEnd(9))} ${value}`),
    ...(result.notes.length > 0 ? ["", ...result.notes.map((note) => `${mark.warn("Note:")} ${note}`)] : []),
    "",
    `Next: ${mark.name("cairn start")}, then ${mark.name("cairn chat")}`,
  ].join("\n");
}

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { unknownCommand } from "../../control/unknown-command.ts";

const FOLDER = fileURLToPath(new URL("../../control/commands", import.meta.url));
const ids = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.replace(/(\/index)?\.ts$/, "").replaceAll("/", " "));
const COMMANDS = { ids, withArguments: new Set(["chat", "memory search"]) };
const said = (line: string) => unknownCommand(line.split(" "), COMMANDS);

describe("a command that does not exist", () => {
  it.each([
    ["find it", "memory search"],
    ["memory find", "memory search"],
    ["upgrade", "update"],
    ["serve", "start"],
    ["config get", "config validate"],
    ["token delete", "token revoke"],
    ["infra deploy", "infra up"],
    ["statsu", "status"],
    ["memory serach", "memory search"],
    ["memori", "memory"],
    ["tokens revoke", "token revoke"],
    ["tokens rotate laptop", "token rotate"],
    ["tokens", "token list"],
  ])("`%s` suggests `%s`", (line, meant) => {
    expect(said(line)?.hint).toContain(`\`cairn ${meant}`);
  });

  it.each(["foo", "memory foo", "xyzzy"])("`%s` suggests nothing that was not meant", (line) => {
    expect(said(line)?.message).toBe(`There is no command \`${line}\`.`);
    expect(said(line)?.hint).not.toContain("Did you mean");
  });

  it("points at the help of its topic", () => {
    expect(said("memory foo")?.hint).toBe("See `cairn memory --help`.");
    expect(said("foo")?.hint).toBe("See `cairn --help`.");
  });

  it("suggests only commands that exist, whatever is typed", () => {
    for (const line of ["add", "deploy", "tokens", "tokens create", "service remove", "plugins ls", "recall", "ps"]) {
      const meant = /Did you mean `cairn ([^`]+)`/.exec(said(line)?.hint ?? "")?.[1];
      expect(ids).toContain(meant);
    }
  });
});

it("a word behind a command without arguments is told so", () => {
  expect(said("start extra")?.message).toBe("`cairn start` takes no argument: extra.");
});

it.each(["chat hello", "memory search foo", "memory", "start --detach", "--help"])("`%s` is a command", (line) => {
  expect(said(line)).toBeNull();
});

import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { invocationOf, typedCommands } from "../../../control/output/invocation.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const CALL = { argv: ["start"], script: "/usr/bin/cairn", env: {}, cwd: "/work" };
const here = (call: Partial<Parameters<typeof invocationOf>[0]>, text = "Run `cairn chat`, then look.") =>
  typedCommands(text, invocationOf({ ...CALL, ...call }));

describe("a printed command", () => {
  test("is as it is where cairn is on the path and finds the directory by itself", () => {
    expect(here({})).toBe("Run `cairn chat`, then look.");
  });

  test("names the directory that this command was given, as one word of a shell", () => {
    expect(here({ argv: ["start", "--dir", "d1"] })).toBe("Run `cairn chat --dir /work/d1`, then look.");
    expect(here({ argv: ["start", "--dir=/srv/my agents"] })).toContain("`cairn chat --dir '/srv/my agents'`");
    expect(here({ argv: ["start", "--dir=~/agents"], env: { HOME: "/home/me" } })).toContain(
      "`cairn chat --dir /home/me/agents`",
    );
    expect(here({ argv: ["chat", "--", "--dir", "d1"] })).toContain("`cairn chat`");
    expect(here({ argv: ["start", "--dir", "d1"] }, "See `cairn start --help`, `cairn`, `cairn stop --dir x`.")).toBe(
      "See `cairn start --help`, `cairn`, `cairn stop --dir x`.",
    );
    expect(here({ argv: ["--dir", "/a"] }, "`cairn exec --node b -- tar -x < f`")).toBe(
      "`cairn exec --node b --dir /a -- tar -x < f`",
    );
  });

  test("goes through npm in a source tree, also from elsewhere", () => {
    const env = { npm_lifecycle_event: "start", INIT_CWD: "/work/docs" };
    expect(here({ env })).toContain("`npm run -s cairn -- chat`");
    expect(here({ env, argv: ["--dir", "/a"] })).toContain("`npm run -s cairn -- chat --dir /a`");
    expect(here({ env: { ...env, INIT_CWD: "/home" } })).toContain("`npm --prefix /work run -s cairn -- chat`");
    expect(here({ env: { npm_lifecycle_event: "test" } })).toContain("`cairn chat`");
  });

  test("names the program's path where none of this name is on PATH", async () => {
    const [tree, folder] = [await temporaryDirectory(), await temporaryDirectory()];
    const script = join(tree, "bin", "cairn.js");
    await mkdir(join(tree, "bin"));
    await writeFile(script, "");
    await chmod(script, 0o755);
    expect(here({ script, env: { PATH: folder } })).toContain(`\`${script} chat\``);
    await symlink(script, join(folder, "cairn"));
    expect(here({ script, env: { PATH: `/nonexistent:${folder}` } })).toContain("`cairn chat`");
  });

  test("stays as it is where it is typed on another machine", () => {
    expect(here({ argv: ["--dir", "/a"] }, "Run `cairn mesh token` there, then `cairn mesh join`.")).toBe(
      "Run `cairn mesh token` there, then `cairn mesh join --dir /a`.",
    );
  });

  test("stays as it is in the comment of a file that is shown", () => {
    const diff = "+  # What `cairn infra up` deploys.\nNext: `cairn restart`";
    expect(here({ argv: ["--dir", "/a"] }, diff)).toBe(
      "+  # What `cairn infra up` deploys.\nNext: `cairn restart --dir /a`",
    );
  });
});

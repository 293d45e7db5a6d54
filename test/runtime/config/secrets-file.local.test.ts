import { chmod, chown, lstat, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { ensureApiToken } from "../../../runtime/config/api-token.ts";
import { addSecrets, readSecretsFile } from "../../../runtime/config/secrets-file.ts";
import { lacks } from "../../lanes/tools.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const isRoot = process.getuid?.() === 0;
const OWN = process.getuid?.() ?? 0;
const STRANGER = 12_345;

async function directoryWith(text: string, mode = 0o600): Promise<string> {
  const dir = await temporaryDirectory();
  await writeFile(join(dir, ".env"), text);
  await chmod(join(dir, ".env"), mode);
  return dir;
}

const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;

describe("reading .env", () => {
  test("gives its variables", async () => {
    const dir = await directoryWith("# a comment\nA=1\nexport B='two words'\nC=\"x\\ny\"\nD=a=b\n");
    const file = await readSecretsFile(dir);
    expect(file.values).toEqual({ A: "1", B: "two words", C: "x\ny", D: "a=b" });
    expect(file.warnings).toEqual([]);
  });

  test("that is not there is nothing", async () => {
    expect(await readSecretsFile(await temporaryDirectory())).toMatchObject({
      exists: false,
      values: {},
      warnings: [],
    });
  });

  test.each([0o644, 0o640, 0o660, 0o666, 0o700 | 0o001])("repairs mode %o with a warning", async (mode) => {
    const dir = await directoryWith("A=1\n", mode);
    const file = await readSecretsFile(dir);
    expect(await modeOf(join(dir, ".env"))).toBe(mode & 0o700);
    expect(file.values).toEqual({ A: "1" });
    expect(file.warnings).toMatchObject([{ path: ".env" }]);
    expect(file.warnings[0]?.message).toContain(`0${mode.toString(8)}`);
  });

  test("leaves a mode stricter than 0600 alone", async () => {
    const dir = await directoryWith("A=1\n", 0o400);
    expect((await readSecretsFile(dir)).warnings).toEqual([]);
    expect(await modeOf(join(dir, ".env"))).toBe(0o400);
  });

  test("refuses a file that belongs to another user, whatever its mode", async () => {
    const dir = await directoryWith("A=1\n");
    // The file is ours: seen by another user it is the other one's. Root's files are the exception, tested below.
    if (isRoot) await chown(join(dir, ".env"), STRANGER, STRANGER);
    const reading = readSecretsFile(dir, isRoot ? OWN : STRANGER);
    await expect(reading).rejects.toMatchObject({ code: "CONFIG_SECRETS_FILE_UNSAFE" });
    await expect(reading).rejects.toThrow(/another user/);
  });

  test.skipIf(lacks("root"))(
    "accepts a mounted secret of root that others cannot read, and refuses one that they can",
    async () => {
      const dir = await directoryWith("A=1\n", 0o440);
      expect((await readSecretsFile(dir, STRANGER)).values).toEqual({ A: "1" });
      await chmod(join(dir, ".env"), 0o444);
      await expect(readSecretsFile(dir, STRANGER)).rejects.toMatchObject({ code: "CONFIG_SECRETS_FILE_UNSAFE" });
    },
  );

  test("follows a link, and checks what it leads to", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "data"));
    await writeFile(join(dir, "data", "secrets"), "A=1\n", { mode: 0o644 });
    await symlink("data/secrets", join(dir, ".env"));
    const file = await readSecretsFile(dir);
    expect(file.values).toEqual({ A: "1" });
    expect(file.warnings).toHaveLength(1);
    expect(await modeOf(join(dir, "data", "secrets"))).toBe(0o600);
  });

  test.skipIf(lacks("root"))("refuses a link to a file of another user", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "theirs"), "A=1\n", { mode: 0o600 });
    await chown(join(dir, "theirs"), STRANGER, STRANGER);
    await symlink("theirs", join(dir, ".env"));
    await expect(readSecretsFile(dir)).rejects.toMatchObject({ code: "CONFIG_SECRETS_FILE_UNSAFE" });
  });

  test("refuses what is no file, without waiting for it", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, ".env"));
    await expect(readSecretsFile(dir)).rejects.toMatchObject({ code: "CONFIG_SECRETS_FILE_UNSAFE" });
    await rm(join(dir, ".env"), { recursive: true });
    await execa("mkfifo", [join(dir, ".env")]);
    await expect(readSecretsFile(dir)).rejects.toMatchObject({ code: "CONFIG_SECRETS_FILE_UNSAFE" });
  });

  test("of a link that leads nowhere is an error, not an empty file", async () => {
    const dir = await temporaryDirectory();
    await symlink("nowhere", join(dir, ".env"));
    await expect(readSecretsFile(dir)).rejects.toMatchObject({ code: "CONFIG_UNREADABLE" });
  });
});

describe("adding to .env", () => {
  const secret = { name: "TOKEN", value: "t-1", comment: "What it is for." };

  test("makes the file with mode 0600", async () => {
    const dir = await temporaryDirectory();
    expect(await addSecrets(dir, [secret], "# head\n")).toEqual(["TOKEN"]);
    expect(await readFile(join(dir, ".env"), "utf8")).toBe("# head\n\n# What it is for.\nTOKEN=t-1\n");
    expect(await modeOf(join(dir, ".env"))).toBe(0o600);
  });

  test("keeps every line that is there, also one without an end", async () => {
    const dir = await directoryWith("# mine\nA=1");
    await addSecrets(dir, [secret]);
    expect(await readFile(join(dir, ".env"), "utf8")).toBe("# mine\nA=1\n\n# What it is for.\nTOKEN=t-1\n");
  });

  test("never changes a variable that has a value", async () => {
    const dir = await directoryWith("TOKEN=mine\n");
    expect(await addSecrets(dir, [secret])).toEqual([]);
    expect(await readFile(join(dir, ".env"), "utf8")).toBe("TOKEN=mine\n");
  });

  test("fills a variable that is there without a value", async () => {
    const dir = await directoryWith("TOKEN=\n");
    await addSecrets(dir, [secret]);
    expect((await readSecretsFile(dir)).values).toEqual({ TOKEN: "t-1" });
  });

  test("keeps a link and writes to its target", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "real"), "A=1\n", { mode: 0o600 });
    await symlink("real", join(dir, ".env"));
    await addSecrets(dir, [secret]);
    expect((await lstat(join(dir, ".env"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(dir, "real"), "utf8")).toContain("TOKEN=t-1");
  });
});

describe("the owner's token", () => {
  test("is made once, and then the same", async () => {
    const dir = await temporaryDirectory();
    const first = await ensureApiToken(dir, {});
    expect(first.source).toBe("generated");
    expect(first.token).toMatch(/^cairn_[A-Za-z0-9_-]{43}$/);
    expect(await ensureApiToken(dir, {})).toEqual({ token: first.token, source: "file" });
    expect((await ensureApiToken(await temporaryDirectory(), {})).token).not.toBe(first.token);
  });

  test("of the environment is used and written nowhere", async () => {
    const dir = await temporaryDirectory();
    expect(await ensureApiToken(dir, { SERVICE_API_TOKEN: "given" })).toEqual({
      token: "given",
      source: "environment",
    });
    expect((await readSecretsFile(dir)).exists).toBe(false);
  });
});

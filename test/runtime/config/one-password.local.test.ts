import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createOnePasswordReader } from "../../../runtime/config/one-password.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const REFERENCE = "op://vault/item/field";

/** An `op` that does what the shell script says; the rest of PATH is there for it. */
async function withOp(script: string): Promise<{ PATH: string }> {
  const bin = await temporaryDirectory();
  await writeFile(join(bin, "op"), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, "op"), 0o755);
  return { PATH: `${bin}:/usr/bin:/bin` };
}

async function failure(env: { PATH: string }, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const error: unknown = await createOnePasswordReader({ env, ...options })(REFERENCE).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ code: "CONFIG_SECRET_UNRESOLVED" });
  return error instanceof Error ? error.message : "";
}

describe("the op command", () => {
  test("gives the secret for the reference that it was asked for", async () => {
    const env = await withOp('[ "$1" = read ] && [ "$2" = --no-newline ] && printf "secret of %s" "$3"');
    expect(await createOnePasswordReader({ env })(REFERENCE)).toBe(`secret of ${REFERENCE}`);
  });

  test("sees the environment that it was given, and nothing of this process", async () => {
    const env = {
      ...(await withOp('printf "%s-%s" "$OP_SERVICE_ACCOUNT_TOKEN" "$VITEST"')),
      OP_SERVICE_ACCOUNT_TOKEN: "t",
    };
    expect(await createOnePasswordReader({ env })(REFERENCE)).toBe("t-");
  });

  test("keeps the lines of a secret of several lines", async () => {
    const env = await withOp("printf 'line 1\\nline 2'");
    expect(await createOnePasswordReader({ env })(REFERENCE)).toBe("line 1\nline 2");
  });

  test("that is not installed is named", async () => {
    const message = await failure({ PATH: await temporaryDirectory() });
    expect(message).toContain(REFERENCE);
    expect(message).toContain("not installed");
  });

  test("that refuses is quoted, but never its output", async () => {
    const message = await failure(
      await withOp('echo half-a-secret; echo "no account found" >&2; echo second line >&2; exit 1'),
    );
    expect(message).toContain("no account found");
    expect(message).not.toContain("half-a-secret");
    expect(message).not.toContain("second line");
  });

  test("that gives nothing is an error", async () => {
    expect(await failure(await withOp("exit 0"))).toContain("empty");
  });

  test("that hangs is ended at the deadline", async () => {
    expect(await failure(await withOp("exec sleep 60"), { timeoutMs: 50 })).toContain("no answer within");
  });

  test("is ended when the caller gives up", async () => {
    const abort = new AbortController();
    const env = await withOp("exec sleep 60");
    const message = failure(env, { signal: abort.signal });
    abort.abort();
    expect(await message).toContain("interrupted");
  });
});

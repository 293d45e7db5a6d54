import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ensureApiToken, loadConfig } from "../../../runtime/config/index.ts";
import { ConfigError } from "../../../runtime/contracts/errors.ts";
import { bareEnvironment, deploymentDirectory, inspectText, MINIMAL } from "../../support/deployment.ts";

const REFERENCE = "op://vault/cairn/token";

describe("variables of the service that stand in the password manager", () => {
  test("are read, and what they hold is a secret", async () => {
    const dir = await deploymentDirectory({ yaml: MINIMAL, env: `SERVICE_API_TOKEN=${REFERENCE}\n` });
    const loaded = await loadConfig({ dir, env: bareEnvironment(), readSecret: async () => "the token itself" });
    expect(loaded.env["SERVICE_API_TOKEN"]).toBe("the token itself");
    expect(loaded.secrets).toContain("the token itself");
  });

  test("are asked for once, also when cairn.yaml refers to them", async () => {
    const asked: string[] = [];
    const yaml = `${MINIMAL}memory:\n  postgres:\n`;
    const { loaded } = await inspectText(yaml, {
      env: { SERVICE_PG_URL: "op://vault/cairn/url" },
      readSecret: async (reference) => {
        asked.push(reference);
        return "postgres://cairn@db/cairn";
      },
    });
    expect(loaded?.config.memory.postgres?.connection_string).toBe("postgres://cairn@db/cairn");
    expect(asked).toEqual(["op://vault/cairn/url"]);
  });

  test("that cannot be read end the start: a reference is never taken for a token", async () => {
    const readSecret = async (reference: string) => {
      throw new ConfigError("CONFIG_SECRET_UNRESOLVED", `${reference} could not be read: no such item`);
    };
    const { loaded, error } = await inspectText(MINIMAL, { env: { SERVICE_API_TOKEN: REFERENCE }, readSecret });
    expect(loaded).toBeNull();
    expect(error).toMatchObject({
      code: "CONFIG_SECRET_UNRESOLVED",
      details: { issues: [{ path: "SERVICE_API_TOKEN" }] },
    });
    const dir = await deploymentDirectory({ env: `SERVICE_API_TOKEN=${REFERENCE}\n` });
    await expect(ensureApiToken(dir, {}, { readSecret })).rejects.toMatchObject({ code: "CONFIG_SECRET_UNRESOLVED" });
  });

  test("are left alone where they belong to others", async () => {
    const { loaded } = await inspectText(MINIMAL, { env: { OTHER_TOKEN: REFERENCE } });
    expect(loaded?.env["OTHER_TOKEN"]).toBe(REFERENCE);
  });
});

test("a configuration with secrets unread can still be looked at", async () => {
  const yaml = `${MINIMAL}memory: { postgres: { connection_string: op://vault/cairn/url } }\n`;
  const { errors } = await inspectText(yaml, { readSecret: async (reference) => reference });
  expect(errors).toEqual([]);
});

test("loading changes nothing in the deployment directory", async () => {
  const dir = await deploymentDirectory({ yaml: MINIMAL, env: "A=1\n" });
  await loadConfig({ dir, env: bareEnvironment() });
  expect(await readFile(join(dir, "cairn.yaml"), "utf8")).toBe(MINIMAL);
  expect(await readFile(join(dir, ".env"), "utf8")).toBe("A=1\n");
});

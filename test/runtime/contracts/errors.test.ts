/** The table of error codes: what each one promises holds together, and each is raised somewhere. */

import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as errors from "../../../runtime/contracts/errors.ts";

const { ERROR_CODES, fromErrorBody } = errors;
const CODES = Object.keys(ERROR_CODES) as errors.ErrorCode[];
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

const CLASSES: Readonly<Record<string, typeof errors.CairnError>> = {
  CHANNEL: errors.ChannelError as never,
  MEMORY: errors.MemoryError as never,
  CONFIG: errors.ConfigError as never,
  TOOL: errors.ToolError as never,
  DELEGATION: errors.DelegationError as never,
  RUNTIME: errors.RuntimeError as never,
  PROVIDER: errors.ProviderError as never,
  INFRA: errors.InfraError as never,
};

describe("the table of error codes", () => {
  it.each(CODES)("%s: its prefix has a class, its traits agree with each other", (code) => {
    const { severity, retryable, status } = ERROR_CODES[code];
    const body = { code, message: "m", severity, retryable } as const;
    const error = fromErrorBody(body);
    expect(error).toBeInstanceOf(CLASSES[code.split("_", 1)[0] ?? ""]);
    expect(error.toBody()).toEqual(body);
    expect(error.status).toBe(status);
    expect(["fatal", "error", "warning", "transient"]).toContain(severity);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    // What passes by itself may be tried again; what ends the process may not.
    if (severity === "transient") expect(retryable).toBe(true);
    if (severity === "fatal") expect(retryable).toBe(false);
    // 400 to 428 blame the request: the same one fails again, but for a lock that somebody holds for a while.
    if (retryable && status < 429) expect([code, status]).toEqual(["INFRA_LOCKED", 409]);
    // A client that gets 429 comes back.
    if (status === 429) expect(retryable).toBe(true);
  });

  it("has no code that nothing raises", () => {
    const source = globSync(["runtime/**/*.ts", "control/**/*.ts", "infra/**/*.ts", "bin/*"], {
      cwd: ROOT,
      exclude: ["runtime/contracts/errors.ts", "**/node_modules/**"],
    })
      .map((file) => readFileSync(`${ROOT}${file}`, "utf8"))
      .join("\n");
    expect(source.length).toBeGreaterThan(1_000_000);
    const raised = new Set(
      source.match(/\b(?:CHANNEL|MEMORY|CONFIG|TOOL|DELEGATION|RUNTIME|PROVIDER|INFRA)_[A-Z_]+\b/g),
    );
    expect(CODES.filter((code) => !raised.has(code))).toEqual([]);
  });

  it("is not the last word on retries: an error may say that its own request gets the same answer again", () => {
    const error = new errors.ProviderError("PROVIDER_OVERLOADED", "m", { retryable: false });
    expect(error.retryable).toBe(false);
    expect(fromErrorBody(error.toBody()).retryable).toBe(false);
    // What a body claims makes nothing retryable that the table does not call so.
    const claimed = { ...new errors.ProviderError("PROVIDER_UNKNOWN", "m").toBody(), retryable: true };
    expect(fromErrorBody(claimed).retryable).toBe(false);
  });

  it("reads a code of a newer version as an internal error that names it", () => {
    const body = { code: "RUNTIME_NOT_YET", message: "m", severity: "error", retryable: true } as never;
    expect(fromErrorBody(body)).toMatchObject({ code: "RUNTIME_INTERNAL", message: "m (RUNTIME_NOT_YET)" });
  });
});

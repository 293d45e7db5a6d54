import { parse } from "dotenv";
import { describe, expect, it } from "vitest";
import { renderNodeEnv } from "../../../infra/plan/node-env.ts";

const node = { name: "a", secretVariables: ["KEY", "MISSING", "SERVICE_PG_URL", "constructor"] };

describe("a node's .env", () => {
  it("holds what the node names and has a value, and nothing else", () => {
    const read = parse(renderNodeEnv(node, { KEY: "k", OTHER: "o" }, null));
    expect(read).toEqual({ KEY: "k" });
  });

  it("leads to the stack's own database, whatever the operator has for another one", () => {
    const read = parse(renderNodeEnv(node, { SERVICE_PG_URL: "postgres://elsewhere/x" }, "postgres://stack/cairn"));
    expect(read).toEqual({ SERVICE_PG_URL: "postgres://stack/cairn" });
  });

  it("has no database for a node that names none", () => {
    const read = parse(renderNodeEnv({ name: "b", secretVariables: ["KEY"] }, { KEY: "k" }, "postgres://stack/cairn"));
    expect(read).toEqual({ KEY: "k" });
  });
});

import { describe, expect, it } from "vitest";
import { serverProblem } from "../../../../runtime/plugins/memory/postgres/server.ts";

const good = { number: "170010", version: "17.10", vector: "0.8.0", trgm: "1.6" };

describe("the PostgreSQL server", () => {
  it.each([
    ["16 with pgvector 0.8", { ...good, number: "160000" }],
    ["17 with pgvector 0.10", { ...good, vector: "0.10.1" }],
    ["18 with pgvector 1.0", { ...good, number: "180000", vector: "1.0" }],
  ])("may be %s", (_, server) => expect(serverProblem(server)).toBeUndefined());

  it.each([
    ["too old", { ...good, number: "150004", version: "15.4" }, "15.4"],
    ["without pgvector", { ...good, vector: null }, "pgvector is not installed"],
    ["with an old pgvector", { ...good, vector: "0.7.4" }, "pgvector 0.7.4"],
    ["without pg_trgm", { ...good, trgm: null }, "pg_trgm"],
    ["silent", undefined, "unknown version"],
  ])("is refused when it is %s, in words", (_, server, words) => expect(serverProblem(server)).toContain(words));
});

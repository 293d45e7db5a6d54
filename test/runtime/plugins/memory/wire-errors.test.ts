import { describe, expect, it } from "vitest";
import { MemoryError } from "../../../../runtime/contracts/errors.ts";
import { sqlStateOf, toMemoryError } from "../../../../runtime/plugins/memory/wire/errors.ts";

const driverError = (code: string | undefined, message = "said"): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code });

describe("a driver's failure", () => {
  it.each([
    ["08006", "MEMORY_UNAVAILABLE"],
    ["57P01", "MEMORY_UNAVAILABLE"],
    ["57P03", "MEMORY_UNAVAILABLE"],
    ["28P01", "MEMORY_UNAVAILABLE"],
    ["3D000", "MEMORY_UNAVAILABLE"],
    ["53300", "MEMORY_UNAVAILABLE"],
    ["ECONNREFUSED", "MEMORY_UNAVAILABLE"],
    ["ECONNRESET", "MEMORY_UNAVAILABLE"],
    ["ENOTFOUND", "MEMORY_UNAVAILABLE"],
    ["57014", "MEMORY_TIMEOUT"],
    ["25P03", "MEMORY_TIMEOUT"],
    ["55P03", "MEMORY_LOCK_TIMEOUT"],
    ["40P01", "MEMORY_LOCK_TIMEOUT"],
    ["40001", "MEMORY_LOCK_TIMEOUT"],
    ["53100", "MEMORY_STORE_FULL"],
    ["ENOSPC", "MEMORY_STORE_FULL"],
    ["23505", "MEMORY_QUERY_FAILED"],
    ["42601", "MEMORY_QUERY_FAILED"],
    ["XX000", "MEMORY_QUERY_FAILED"],
  ])("with the code %s is %s", (code, expected) => {
    const cause = driverError(code);
    const error = toMemoryError(cause);
    expect(error).toBeInstanceOf(MemoryError);
    expect(error.code).toBe(expected);
    expect(error.cause).toBe(cause);
  });

  it.each(["Connection terminated unexpectedly", "timeout exceeded when trying to connect"])(
    "without a code is known by its words: %s",
    (message) => expect(toMemoryError(driverError(undefined, message)).code).toBe("MEMORY_UNAVAILABLE"),
  );

  it("that is a MemoryError already stays the same", () => {
    const error = new MemoryError("MEMORY_CONFLICT", "mine");
    expect(toMemoryError(error)).toBe(error);
  });

  it("that is no Error is kept all the same", () => {
    expect(toMemoryError("text")).toMatchObject({ code: "MEMORY_QUERY_FAILED", cause: "text" });
  });

  it("tells its SQLSTATE, also through the MemoryError, and nothing that only looks like one", () => {
    expect(sqlStateOf(toMemoryError(driverError("23505")))).toBe("23505");
    expect(sqlStateOf(driverError("42P01"))).toBe("42P01");
    expect(sqlStateOf(driverError("EPIPE"))).toBeUndefined();
    expect(sqlStateOf(driverError(undefined))).toBeUndefined();
    expect(sqlStateOf(undefined)).toBeUndefined();
  });
});

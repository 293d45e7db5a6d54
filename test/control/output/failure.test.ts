import { describe, expect, it } from "vitest";
import {
  describeFailure,
  EXIT,
  errorFromBody,
  failureText,
  Interrupted,
  needsTerminal,
  UsageError,
} from "../../../control/output/failure.ts";
import { ConfigValidationError, MemoryError, RuntimeError } from "../../../runtime/contracts/errors.ts";

const PLAIN = { error: (text: string) => text, dim: (text: string) => text };

describe("the exit code", () => {
  it.each([
    [new RuntimeError("RUNTIME_NOT_RUNNING", "No."), EXIT.failed],
    [new ConfigValidationError("report", []), EXIT.failed],
    [new Error("unexpected"), EXIT.failed],
    ["thrown text", EXIT.failed],
    [new UsageError("no"), EXIT.usage],
    [needsTerminal("A name", "--name"), EXIT.usage],
    [Object.assign(new Error("Nonexistent flag: --x"), { oclif: { exit: 2 } }), EXIT.usage],
    [new Interrupted("SIGINT"), EXIT.interrupted],
    [new Interrupted("SIGTERM"), EXIT.terminated],
  ])("of %s is %i", (error, code) => {
    expect(describeFailure(error).exitCode).toBe(code);
  });
});

it.each([
  ["EACCES", "permissions"],
  ["EROFS", "SERVICE_HOME"],
  ["ENOSPC", "Make room"],
])("what the system refuses with %s says what to do", (code, hint) => {
  const error = Object.assign(new Error(`${code}: no`), { code, syscall: "open" });
  expect(describeFailure(error).body.hint).toContain(hint);
});

describe("an interrupted command", () => {
  it.each([
    ["SIGINT", "The command was interrupted."],
    ["SIGTERM", "The command was terminated."],
  ] as const)("says so after %s, and speaks of no turn", (signal, message) => {
    const { body } = describeFailure(new Interrupted(signal));
    expect(body).toMatchObject({ code: "RUNTIME_INTERRUPTED", severity: "warning", retryable: true, message });
  });
});

describe("the words", () => {
  it("are the message, what is wrong where, the hint and the code", () => {
    const issues = [{ path: "a.b", message: "must be a number" }];
    const error = new MemoryError("MEMORY_INVALID_ARGUMENT", "The arguments are wrong.", { issues, hint: "Read on." });
    expect(failureText(describeFailure(error), PLAIN)).toBe(
      "Error: The arguments are wrong.\n  - a.b: must be a number\nHint: Read on.\nCode: MEMORY_INVALID_ARGUMENT\n",
    );
  });

  it("say where to look for a database that is away, unless the error knows better", () => {
    const hintOf = (hint?: string) =>
      failureText(describeFailure(new MemoryError("MEMORY_UNAVAILABLE", "Away.", hint ? { hint } : {})), PLAIN);
    expect(hintOf()).toContain("`cairn doctor --only database`");
    expect(hintOf("Check the password.")).not.toContain("doctor");
  });

  it("do not repeat issues that the message holds already", () => {
    const error = new ConfigValidationError("cairn.yaml:\n  a.b must be a number", [
      { path: "a.b", message: "must be a number" },
    ]);
    expect(failureText(describeFailure(error), PLAIN).match(/must be a number/g)).toHaveLength(1);
  });

  it("show what a server wrote without the control characters in it", () => {
    const body = {
      code: "RUNTIME_INTERNAL" as const,
      message: "No.\u001b]0;a title\u0007\u009b2J",
      severity: "error" as const,
      retryable: false,
      hint: "Run\u202e this.\rHint: nothing",
      issues: [{ path: "a\u001b[1A", message: "is\u001b[8m wrong" }],
    };
    const text = failureText({ exitCode: EXIT.failed, body }, PLAIN);
    expect(text).toBe(
      "Error: No.\\u001b]0;a title\\u0007\\u009b2J\n  - a\\u001b[1A: is\\u001b[8m wrong\n" +
        "Hint: Run\\u202e this.\\u000dHint: nothing\nCode: RUNTIME_INTERNAL\n",
    );
  });

  it("name the flag where a terminal is missing", () => {
    expect(failureText(describeFailure(needsTerminal("A name", "--name NAME")), PLAIN)).toContain("Pass --name NAME.");
  });

  it("lead from an error of the framework to the command's help", () => {
    const error = Object.assign(new Error("Nonexistent flag: --x\nSee more help with --help"), { oclif: { exit: 2 } });
    expect(failureText(describeFailure(error, "memory backup"), PLAIN)).toBe(
      "Error: There is no flag --x here.\nHint: See `cairn memory backup --help`.\n",
    );
  });

  it("say what to do when no node runs, unless the error knows better", () => {
    expect(describeFailure(new RuntimeError("RUNTIME_NOT_RUNNING", "No.")).body.hint).toContain("cairn start");
    const failure = new RuntimeError("RUNTIME_NOT_RUNNING", "No.", { hint: "Wait." });
    expect(describeFailure(failure).body.hint).toBe("Wait.");
  });
});

describe("the error of another process", () => {
  it("is the same error here", () => {
    const error = new MemoryError("MEMORY_STORE_LOCKED", "In use.", { hint: "Stop it." });
    const copy = errorFromBody(JSON.parse(JSON.stringify(error.toBody())));
    expect(copy).toBeInstanceOf(MemoryError);
    expect(copy?.toBody()).toEqual(error.toBody());
  });

  it.each([null, 7, "text", {}, { code: 1, message: "x" }])("is none in %j", (value) => {
    expect(errorFromBody(value)).toBeNull();
  });
});

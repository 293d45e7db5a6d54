import { expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

it.each([
  [["status", "--nonsense"], "There is no flag --nonsense here."],
  [["memory", "search", "x", "--limit", "abc"], "--limit takes a whole number, not abc."],
  [["login", "--port", "70000"], "--port takes a whole number, 65535 or less, not 70000."],
  [["memory", "search"], "An argument is missing: QUERY (What to look for)."],
  [["memory", "search", "a", "b"], "This is one argument too many: b."],
  [["logs", "--level", "loud"], "--level does not take loud: it is trace, debug, info, warn, error or fatal."],
  [["chat", "--agent"], "--agent needs a value."],
  [["doctor", "--timeout", "1", "--timeout", "2"], "--timeout can be given only once."],
  [["login", "--status", "--logout"], "--logout and --status exclude each other."],
  [["config", "show"], "There is no command `config show`."],
])("%j is refused in words of the command line", async (argv, words) => {
  const cli = await createCli();
  const { code, stderr } = await cli.run(argv);
  expect(code).toBe(2);
  expect(stderr).toContain(`Error: ${words}\n`);
  expect(stderr).not.toMatch(/Nonexistent|Expected|Parsing|\barg\b|not found/);
});

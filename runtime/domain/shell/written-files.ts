/** Files that programs of the script write: what is in them is remembered for when the script runs them later. */

import { posix } from "node:path";
import { hasOption, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { absolutePath, isStandardInput } from "./paths.ts";
import type { Stream } from "./streams.ts";

export function noteWrittenFiles(invocation: Invocation): void {
  const { program, args, input, state } = invocation;
  switch (program) {
    case "curl":
    case "wget":
      for (const target of downloadTargets(program, args))
        state.files.set(absolutePath(target, state), { kind: "program", program });
      break;
    case "mkfifo":
      for (const file of operandsOf(args, "-m"))
        state.files.set(absolutePath(file, state), { kind: "program", program: "another command" });
      break;
    case "tee":
      for (const file of operandsOf(args)) state.files.set(absolutePath(file, state), input);
      break;
    case "dd": {
      const target = args.find((arg) => arg.startsWith("of="))?.slice(3);
      const source = args.find((arg) => arg.startsWith("if="))?.slice(3) ?? "-";
      if (target !== undefined) noteCopy(source, target, invocation);
      break;
    }
    case "cp":
    case "install":
    case "ln":
    case "mv": {
      const operands = operandsOf(args, "-t --target-directory -m -o -g -S");
      const directory = optionValue(args, "-t", "--target-directory");
      const target = directory ?? operands.at(-1) ?? "";
      for (const source of directory === undefined ? operands.slice(0, -1) : operands) {
        // Whether the target is a directory is not known: the copy may be in it.
        if (directory === undefined) noteCopy(source, target, invocation);
        noteCopy(source, posix.join(target, posix.basename(source)), invocation);
      }
    }
  }
}

function noteCopy(source: string, target: string, { state, input }: Invocation): void {
  const content: Stream | undefined = isStandardInput(source) ? input : state.files.get(absolutePath(source, state));
  if (content) state.files.set(absolutePath(target, state), content);
}

function downloadTargets(program: "curl" | "wget", args: readonly string[]): readonly string[] {
  const letter = program === "curl" ? "o" : "O";
  // `-o x`, also behind other letters: `-fsSLo x`.
  const option = new RegExp(`^(?:-[a-zA-Z]*?${letter}|--output(?:-document)?=?)(.*)$`, "s");
  const given = args.flatMap((arg, at) => option.exec(arg)?.[1]?.replace(/^$/, args[at + 1] ?? "") ?? []);
  const directory = optionValue(args, "--output-dir", "-P", "--directory-prefix");
  const byAddress = program === "wget" || hasOption(args, "O", "--remote-name", "--remote-name-all");
  const named = byAddress
    ? operandsOf(args, "-P --directory-prefix --output-dir").map((url) => posix.basename(url))
    : [];
  return [...given, ...named].filter((target) => target !== "-").map((target) => posix.join(directory ?? "", target));
}

/** What a script of sed runs. */

import { operandsOf } from "./inspection.ts";

/** Shell commands in sed's scripts: `1e date`, and replacements that are run (`s/x/date/e`). */
export function sedCommands(args: readonly string[]): readonly string[] {
  const given = args.flatMap((arg, at) => (/^(-[a-zA-Z]*e|--expression)$/.test(arg) ? [args[at + 1] ?? ""] : []));
  const inline = args.flatMap((arg) => /^--expression=(.*)$/s.exec(arg)?.[1] ?? []);
  const first = given.length + inline.length > 0 ? [] : operandsOf(args, ["-f", "-l"]).slice(0, 1);
  return [...given, ...inline, ...first].flatMap((script) => [
    ...[...script.matchAll(/(?:^|[;{}\n\d$/!,])[ \t]*e[ \t]+([^\n]+)/g)].map((match) => match[1] ?? ""),
    ...[...script.matchAll(/s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1((?:\\.|(?!\1)[^\\])*)\1[gpimMI\d]*e/g)].map((match) =>
      (match[2] ?? "").replaceAll("\\/", "/"),
    ),
  ]);
}

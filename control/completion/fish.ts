/** Completion for fish. */

import type { CommandNode, FlagWord } from "./words.ts";

export function fishCompletion(places: readonly CommandNode[]): string {
  const paths = places.filter(({ path }) => path.length > 0).map(({ path }) => quote(path.join(" ")));
  return `# Completion of cairn for fish: cairn completion fish > ~/.config/fish/completions/cairn.fish
function __cairn_place
    set -l place
    set -l tokens (commandline -opc)
    for word in $tokens[2..-1]
        set -l longer (string join -- ' ' $place $word)
        if contains -- $longer ${paths.join(" ")}
            set place $place $word
        end
    end
    string join -- ' ' $place
end
function __cairn_at
    set -l place (__cairn_place)
    test "$place" = "$argv[1]"
end
complete -c cairn -f
${places.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, next, flags }: CommandNode): string[] {
  const at = `complete -c cairn -n ${quote(`__cairn_at ${quote(path.join(" "))}`)}`;
  return [
    ...next.map(({ word, about }) => `${at} -a ${quote(word)} -d ${quote(about)}`),
    ...flags.map(
      (flag) =>
        `${at} -l ${flag.name}${flag.char === null ? "" : ` -s ${flag.char}`}${valueWords(flag.value)} -d ${quote(flag.about)}`,
    ),
  ];
}

function valueWords(value: FlagWord["value"]): string {
  if (value === "none") return "";
  if (value === "file") return " -r -F";
  if (value === "directory") return " -r -a '(__fish_complete_directories)'";
  return value === "any" ? " -x" : ` -x -a ${quote(value.join(" "))}`;
}

/** In single quotes fish has two escapes. */
function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

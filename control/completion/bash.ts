/** Completion for bash 3.2 and newer: no arrays by name, which macOS's own bash does not have. */

import { shellQuote } from "../../runtime/contracts/shell-quote.ts";
import type { CommandNode, FlagWord } from "./words.ts";

export function bashCompletion(places: readonly CommandNode[]): string {
  const paths = places.filter(({ path }) => path.length > 0).map(({ path }) => shellQuote(keyOf(path)));
  return `# Completion of cairn for bash: eval "$(cairn completion bash)" in ~/.bashrc
_cairn() {
  local cur prev place word index words=""
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  # --flag=value comes as three words.
  if [[ "$cur" == "=" ]]; then
    cur=""
  elif [[ "$prev" == "=" ]] && ((COMP_CWORD > 1)); then
    prev="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  place=""
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$place $word" in
      ${paths.join("|\\\n      ")}) place="$place $word" ;;
    esac
  done
  case "$place $prev" in
${places.flatMap(valueCases).join("\n")}
  esac
  case "$place" in
${places.map((place) => `    ${shellQuote(keyOf(place.path))}) words=${shellQuote(wordsOf(place).join(" "))} ;;`).join("\n")}
  esac
  # shellcheck disable=SC2207 # words have no spaces in them
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _cairn cairn
`;
}

function valueCases({ path, flags }: CommandNode): string[] {
  return flags
    .filter(({ value }) => value !== "none")
    .map((flag) => {
      const forms = formsOf(flag).map((form) => shellQuote(`${keyOf(path)} ${form}`));
      return `    ${forms.join("|")}) COMPREPLY=(${generator(flag.value)}); return ;;`;
    });
}

function generator(value: FlagWord["value"]): string {
  if (value === "file") return '$(compgen -f -- "$cur")';
  if (value === "directory") return '$(compgen -d -- "$cur")';
  if (value === "any" || value === "none") return "";
  return `$(compgen -W ${shellQuote(value.join(" "))} -- "$cur")`;
}

function formsOf({ name, char }: FlagWord): string[] {
  return [`--${name}`, ...(char === null ? [] : [`-${char}`])];
}

function wordsOf({ next, flags }: CommandNode): string[] {
  return [...next.map(({ word }) => word), ...flags.map(({ name }) => `--${name}`)];
}

/** Each word behind a space, as the loop above puts them together. */
function keyOf(path: readonly string[]): string {
  return path.map((word) => ` ${word}`).join("");
}

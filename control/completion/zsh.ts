/** Completion for zsh. */

import { shellQuote } from "../../runtime/contracts/shell-quote.ts";
import type { CommandNode, FlagWord } from "./words.ts";

export function zshCompletion(places: readonly CommandNode[]): string {
  const paths = places.filter(({ path }) => path.length > 0).map(({ path }) => shellQuote(keyOf(path)));
  return `#compdef cairn
# Completion of cairn for zsh: eval "$(cairn completion zsh)" in ~/.zshrc, after compinit
_cairn() {
  local place="" word prev="\${words[CURRENT-1]}"
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      (${paths.join("|\\\n      ")}) place="$place $word" ;;
    esac
  done
  case "$place $prev" in
${places.flatMap(valueCases).join("\n")}
  esac
  case "$place" in
${places.map(placeCase).join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]] || (( \${#choices} )); then
    _describe -t values cairn choices
  else
    _files
  fi
}
compdef _cairn cairn
`;
}

function placeCase({ path, next, flags }: CommandNode): string {
  const choices = [
    ...next.map(({ word, about }) => described(word, about)),
    ...flags.map(({ name, about }) => described(`--${name}`, about)),
  ];
  return `    (${shellQuote(keyOf(path))}) choices=(${choices.map(shellQuote).join(" ")}) ;;`;
}

function valueCases({ path, flags }: CommandNode): string[] {
  return flags
    .filter(({ value }) => value !== "none")
    .map(({ name, char, value }) => {
      const forms = [`--${name}`, ...(char === null ? [] : [`-${char}`])];
      const patterns = forms.map((form) => shellQuote(`${keyOf(path)} ${form}`));
      return `    (${patterns.join("|")}) ${generator(value)}; return ;;`;
    });
}

function generator(value: FlagWord["value"]): string {
  if (value === "file") return "_files";
  if (value === "directory") return "_files -/";
  if (value === "any" || value === "none") return "return";
  return `compadd -- ${value.map(shellQuote).join(" ")}`;
}

/** A colon separates the word from what it is for. */
function described(word: string, about: string): string {
  return `${word.replaceAll(":", "\\:")}:${about}`;
}

function keyOf(path: readonly string[]): string {
  return path.map((word) => ` ${word}`).join("");
}

/** Fork bombs by their shape: something that starts itself in a pipeline or in the background. */

import { forEachChild, type SyntaxNode } from "unbash";

/** Whether a command named `name` is anywhere below the node. */
export function callsItself(node: SyntaxNode, name: string): boolean {
  let found =
    node.type === "Command" &&
    node.name !== undefined &&
    [node.name.value, node.name.text.replaceAll('"', "")].includes(name);
  forEachChild(node, (child) => {
    found ||= callsItself(child, name);
  });
  return found;
}

/** Whether a function's body calls it in a pipeline with others or in the background: each call starts more of them. */
export function spawnsItself(body: SyntaxNode, name: string): boolean {
  let found = false;
  const search = (node: SyntaxNode) => {
    const parallel =
      (node.type === "Pipeline" && node.commands.length > 1) || (node.type === "Statement" && node.background === true);
    if (parallel && callsItself(node, name)) found = true;
    else forEachChild(node, search);
  };
  search(body);
  return found;
}

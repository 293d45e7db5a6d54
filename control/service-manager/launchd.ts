/** A launchd property list for macOS. */

import { fillTemplate, type ServiceDescription } from "./service.ts";

export function launchdPlist(template: string, service: ServiceDescription): string {
  const { name, command, dir, environment } = service;
  return fillTemplate(template, {
    NAME: escapeXml(name),
    ARGUMENTS: command.map((word) => `    <string>${escapeXml(word)}</string>`).join("\n"),
    DIR: escapeXml(dir),
    ENVIRONMENT: Object.entries(environment)
      .map(([key, value]) => `    <key>${escapeXml(key)}</key>\n    <string>${escapeXml(value)}</string>`)
      .join("\n"),
    STOP_SECONDS: String(service.stopSeconds),
  });
}

export function escapeXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no form for these
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.test(text)) {
    throw new Error("A property list cannot hold control characters.");
  }
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&apos;");
}

/** The text again that `escapeXml` was given. */
export function unescapeXml(text: string): string {
  return text
    .replaceAll("&apos;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&gt;", ">")
    .replaceAll("&lt;", "<")
    .replaceAll("&amp;", "&");
}

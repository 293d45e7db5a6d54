/** Reads what `pct config` prints and compares it with a plan: the only parser of that format. Pure. */

import { ABSENT, type CtSpec } from "./ct.ts";

/** A setting of a CT that is not as planned; `null` where it is not set. */
export interface CtDifference {
  readonly setting: string;
  readonly expected: string | null;
  readonly observed: string | null;
}

/** `key: value` lines; values keep their order. Lines of another form are passed over. */
export function parsePctConfig(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^([a-z0-9_.]+): (.*)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) found.set(match[1], match[2]);
  }
  return found;
}

/** Whose CT this is, by the mark in its notes; null when it has none. */
export function ownerOf(config: ReadonlyMap<string, string>): { readonly stack: string; readonly role: string } | null {
  const match = /(?:^|%0A| )cairn\.stack=([a-z0-9-]+) cairn\.node=([a-z0-9-]+)(?:%0A| |$)/.exec(
    config.get("description") ?? "",
  );
  return match?.[1] === undefined || match[2] === undefined ? null : { stack: match[1], role: match[2] };
}

/** Every setting that differs. What Proxmox adds by itself (hardware addresses, types) does not count. */
export function compareCt(spec: CtSpec, config: ReadonlyMap<string, string>): readonly CtDifference[] {
  const differences: CtDifference[] = [];
  const note = (setting: string, expected: string | null, observed: string | null): void => {
    differences.push({ setting, expected, observed });
  };
  for (const [key, expected] of Object.entries(spec.settings)) {
    const observed = config.get(key) ?? ABSENT;
    if (!sameSetting(key, expected, observed)) note(key, shown(expected), shown(observed));
  }
  const unprivileged = config.get("unprivileged") ?? "0";
  if ((unprivileged === "1") !== spec.unprivileged) {
    note("unprivileged", spec.unprivileged ? "1" : "0", unprivileged);
  }
  const size = diskGiB(config.get("rootfs") ?? "");
  if (size !== null && size < spec.diskGiB) note("rootfs", `size=${spec.diskGiB}G`, config.get("rootfs") ?? null);
  return differences;
}

function shown(value: string): string | null {
  return value === ABSENT ? null : value;
}

function sameSetting(key: string, expected: string, observed: string): boolean {
  if (key === "description") return observed.replace(/%0A$/, "") === expected;
  if (key === "tags") return parts(expected, /[;, ]/).join(";") === parts(observed, /[;, ]/).join(";");
  if (/^(?:net|mp)\d+$|^features$|^startup$/.test(key))
    return parts(expected, /,/).join() === parts(observed, /,/).join();
  return expected === observed;
}

/** Sorted, without what Proxmox or its administrator adds to a network device. */
function parts(value: string, separator: RegExp): string[] {
  return value
    .split(separator)
    .filter((part) => part !== "" && !/^(?:hwaddr|type|firewall)=/.test(part))
    .sort();
}

/** Whole GiB of `storage:disk,size=16G`; null when it does not say. */
function diskGiB(rootfs: string): number | null {
  const match = /(?:^|,)size=(\d+)([KMGT]?)/.exec(rootfs);
  if (match?.[1] === undefined) return null;
  const factor = { "": 1 / 1024 ** 3, K: 1 / 1024 ** 2, M: 1 / 1024, G: 1, T: 1024 }[match[2] ?? ""] ?? 1;
  return Number(match[1]) * factor;
}

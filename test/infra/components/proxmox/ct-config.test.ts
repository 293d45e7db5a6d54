/** Settings as `pct config` prints them against settings as a plan has them. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CtSpec } from "../../../../infra/components/proxmox/ct.ts";
import { compareCt, ownerOf, parsePctConfig } from "../../../../infra/components/proxmox/ct-config.ts";

const SPEC: CtSpec = {
  vmid: 700,
  member: null,
  stack: "fleet",
  role: "one",
  template: "local:vztmpl/t",
  storage: "local-lvm",
  diskGiB: 16,
  unprivileged: true,
  settings: {
    memory: "2048",
    cores: "",
    features: "nesting=1,keyctl=1",
    net0: "name=eth0,bridge=vmbr0,ip=dhcp",
    tags: "cairn",
    description: "cairn.stack=fleet cairn.node=one",
    mp0: "/data/a,mp=/srv/a",
    mp1: "",
  },
  directories: [],
  stopTimeoutS: 90,
  intentFile: "/x",
  appliedFile: "/y",
};
const PRINTED = [
  "arch: amd64",
  "description: cairn.stack=fleet cairn.node=one%0A",
  "features: keyctl=1,nesting=1",
  "memory: 2048",
  "mp0: /data/a,mp=/srv/a",
  "net0: name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=dhcp,type=veth",
  "rootfs: local-lvm:vm-700-disk-0,size=16G",
  "tags: cairn",
  "unprivileged: 1",
];

const compare = (lines: readonly string[]) => compareCt(SPEC, parsePctConfig(lines.join("\n")));
const without = (key: string, ...more: string[]) => [...PRINTED.filter((line) => !line.startsWith(`${key}:`)), ...more];

describe("pct config", () => {
  it("equals its plan in spite of what Proxmox adds and of its order", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(PRINTED, { minLength: PRINTED.length }), (lines) => {
        expect(compare(lines)).toEqual([]);
      }),
    );
  });

  it.each([
    ["memory", without("memory", "memory: 512"), "2048", "512"],
    ["cores", [...PRINTED, "cores: 4"], null, "4"],
    ["features", without("features"), "nesting=1,keyctl=1", null],
    [
      "net0",
      without("net0", "net0: name=eth0,bridge=vmbr9,ip=dhcp"),
      "name=eth0,bridge=vmbr0,ip=dhcp",
      "name=eth0,bridge=vmbr9,ip=dhcp",
    ],
    ["mp0", without("mp0"), "/data/a,mp=/srv/a", null],
    ["mp1", [...PRINTED, "mp1: /etc,mp=/etc"], null, "/etc,mp=/etc"],
    ["unprivileged", without("unprivileged"), "1", "0"],
    ["rootfs", without("rootfs", "rootfs: s:d,size=8G"), "size=16G", "s:d,size=8G"],
    ["description", without("description", "description: mine"), "cairn.stack=fleet cairn.node=one", "mine"],
  ])("tells a different %s", (setting, lines, expected, observed) => {
    expect(compare(lines)).toEqual([{ setting, expected, observed }]);
  });

  it("takes a larger disk as it is", () => {
    expect(compare(without("rootfs", "rootfs: s:d,size=1T"))).toEqual([]);
  });

  it.each([
    ["cairn.stack=fleet cairn.node=one%0A", { stack: "fleet", role: "one" }],
    ["notes of mine%0Acairn.stack=fleet cairn.node=one", { stack: "fleet", role: "one" }],
    ["xcairn.stack=fleet cairn.node=one", null],
    ["cairn.stack=fleet", null],
    ["", null],
  ])("knows the owner of %j", (description, owner) => {
    expect(ownerOf(new Map([["description", description]]))).toEqual(owner);
  });
});

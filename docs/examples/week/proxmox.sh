#!/usr/bin/env bash
# A week of an operator with two nodes and a PostgreSQL on Proxmox: deploy, use, break, change, upgrade, scale, back up, lose the
# passphrase, recover, destroy, deploy again. Stops at the first command that does not do what it should; proxmox.txt is what
# it printed.
#
#   ./proxmox.sh DIRECTORY       an empty directory; the stack in it is called week, and goes at the end
#
# CAIRN: the command. PVE_HOST, PVE_PORT, PVE_KEY, PVE_HOST_KEY: the host, and the private key that root logs in with there.
# TEMPLATE, STORAGE, BRIDGE, DATA_DIR: what the CTs are made from. NETWORK: of the CTs, as 192.168.1; .1 is its gateway, .10 to
# .13 and the numbers 700 to 703 are free. BASE_IMAGE, POSTGRES_IMAGE, NEXT_POSTGRES_IMAGE: images other than the defaults.

. "$(dirname "$0")/common.sh"
PVE_PORT=${PVE_PORT:-22}
PVE_KEY=${PVE_KEY:-$HOME/.ssh/id_ed25519}
PVE_HOST_KEY=${PVE_HOST_KEY:-$(ssh-keyscan -t ed25519 -p "$PVE_PORT" "${PVE_HOST:?}" 2>/dev/null | cut -d ' ' -f 2-)}
TEMPLATE=${TEMPLATE:-local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst}
STORAGE=${STORAGE:-local-lvm}
BRIDGE=${BRIDGE:-vmbr0}
DATA_DIR=${DATA_DIR:-/var/lib/cairn}
BASE_IMAGE=${BASE_IMAGE:-node:24-trixie-slim}
POSTGRES_IMAGE=${POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg17-trixie}
NEXT_POSTGRES_IMAGE=${NEXT_POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg18-trixie}
cd "${1:?a directory for the deployment}"

# What somebody does on the host itself, without a word to Cairn.
KNOWN_HOSTS=$(mktemp)
trap 'rm "$KNOWN_HOSTS"' EXIT
printf 'pve %s\n' "$PVE_HOST_KEY" >"$KNOWN_HOSTS"
on_host() {
  ssh -p "$PVE_PORT" -i "$PVE_KEY" -o HostKeyAlias=pve -o UserKnownHostsFile="$KNOWN_HOSTS" "root@$PVE_HOST" "$@"
}

day Monday: deploy, and talk
write_configuration "\
  target: proxmox
  nodes:
    - name: ada
      address: $NETWORK.11/24
      memory: 1Gi
    - name: bob
      address: $NETWORK.12/24
      memory: 1Gi
  proxmox:
    host: $PVE_HOST
    port: $PVE_PORT
    host_key: $PVE_HOST_KEY
    identity_file: $PVE_KEY
    template: $TEMPLATE
    storage: $STORAGE
    bridge: $BRIDGE
    gateway: $NETWORK.1
    data_dir: $DATA_DIR
    postgres_address: $NETWORK.10/24
  datahub:
    postgres: true
    memory: 1Gi
    image: $POSTGRES_IMAGE"
do_ cairn doctor --fix --only workspace --yes
do_ cairn build --base-image "$BASE_IMAGE" --tag week-proxmox:1
do_ cairn infra preview
do_ cairn infra up --yes
do_ cairn infra status
tell "The spare key hangs behind the fuse box."
do_ cairn chat "Where does the spare key hang?"
do_ cairn doctor
do_ cairn infra up --yes

day Tuesday: things break
do_ on_host pct stop 701
expect 1 cairn infra status
do_ cairn chat --session tuesday "Where does the spare key hang?"
do_ cairn infra up --yes
tell "The heating is serviced in May."
do_ on_host pct exec 700 -- docker rm --force week-postgres
expect 1 cairn infra status
do_ cairn infra preview
do_ cairn infra up --yes
do_ on_host pct destroy 700 --force 1
do_ on_host pct exec 701 -- docker pause week-ada
do_ on_host pct exec 702 -- docker rename week-bob bob
expect 1 cairn infra status
do_ cairn infra up --yes
do_ on_host pct set 701 --memory 4096
do_ on_host pct exec 702 -- rm /etc/cairn/cairn.yaml
expect 1 cairn infra status
expect 1 cairn infra up --yes
do_ cairn infra up --roll --yes
do_ cairn infra status
all_there

day Wednesday: a setting, an image
set_ max_tool_iterations 40
do_ cairn infra preview
do_ cairn infra up --roll --yes
do_ cairn build --base-image "$BASE_IMAGE" --tag week-proxmox:2 --package less
do_ cairn infra up --roll --image week-proxmox:2 --yes
tell "The tax office wants the form in March."
all_there

day Thursday: one node more, one with another name, one less
sed -i "s|^      address: $NETWORK.12/24|&\n      memory: 1Gi\n    - name: cleo\n      address: $NETWORK.13/24|" cairn.yaml
do_ cairn infra up --yes
do_ cairn infra node rename cleo dora --yes
do_ cairn infra status
do_ cairn infra node remove dora --data archive --confirm dora
do_ cairn infra up --yes
do_ cairn infra status
all_there

day Friday: the next PostgreSQL
do_ cairn infra postgres upgrade --to "$NEXT_POSTGRES_IMAGE" --yes
do_ cairn infra up --yes
do_ cairn exec --node ada -- node --version
do_ cairn exec --postgres -- postgres --version
do_ cairn logs --node ada --lines 5
tell "The bicycle is lent to Nora."
all_there

lose_the_passphrase
destroy_and_return
do_ on_host rm -r "$DATA_DIR/week/cleo"

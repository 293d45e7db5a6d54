#!/usr/bin/env bash
# A week of an operator with two nodes and a PostgreSQL on Docker: deploy, use, break, change, upgrade, scale, back up, lose
# the passphrase, recover, destroy, deploy again. Stops at the first command that does not do what it should; docker.txt is
# what it printed.
#
#   ./docker.sh DIRECTORY        an empty directory; the stack in it is called week, and goes at the end
#
# CAIRN: the command. BASE_IMAGE, POSTGRES_IMAGE, NEXT_POSTGRES_IMAGE: images other than the defaults.

set -euo pipefail
CAIRN=${CAIRN:-cairn}
BASE_IMAGE=${BASE_IMAGE:-node:24-trixie-slim}
POSTGRES_IMAGE=${POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg17-trixie}
NEXT_POSTGRES_IMAGE=${NEXT_POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg18-trixie}
cd "${1:?a directory for the deployment}"

day() { printf '\n# %s\n' "$*"; }

# Prints the command as it is typed, and what it prints. The first word is how it has to end: 0, or another exit code.
expect() {
  local code=0 wanted=$1
  shift
  printf '\n$ %s\n' "$*"
  "$@" </dev/null || code=$?
  [ "$code" = "$wanted" ] || { printf 'ended with %s instead of %s\n' "$code" "$wanted"; exit 1; }
}
cairn() { command $CAIRN "$@"; }
do_() { expect 0 "$@"; }

set_() { # set_ KEY VALUE: what an editor would do to one line of cairn.yaml
  printf '\n$ sed -i "s/%s: .*/%s: %s/" cairn.yaml\n' "$1" "$1" "$2"
  sed -i "s|\b$1: .*|$1: $2|" cairn.yaml
}

# Every fact that was told so far is still found, whichever node answers.
told=()
tell() {
  told+=("$1")
  do_ cairn chat "Remember: $1" >/dev/null
  printf '\n$ cairn chat "Remember: %s"\n' "$1"
}
all_there() {
  local fact
  for fact in "${told[@]}"; do
    cairn memory search "$fact" --json | grep -qF "$fact" || { printf 'lost: %s\n' "$fact"; exit 1; }
  done
  printf '\n(all %s facts are there)\n' "${#told[@]}"
}

day Monday: deploy, and talk
cat >cairn.yaml <<YAML
version: 1
agents:
  main: {}
providers:
  offline: {}
runtime:
  max_tool_iterations: 50
memory:
  postgres: {}
deployment:
  name: week
  target: docker
  nodes:
    - name: ada
      port: 7441
    - name: bob
      port: 7442
  docker:
    network: week
  datahub:
    postgres: true
    image: $POSTGRES_IMAGE
YAML
umask 077
printf 'SERVICE_API_TOKEN=cairn_%s\n' "$(head -c 40 /dev/urandom | base64 -w 0 | tr -d '+/=')" >.env
do_ cairn doctor --fix --only workspace --yes
do_ cairn build --base-image "$BASE_IMAGE" --tag week:1
do_ cairn infra preview
do_ cairn infra up --yes
do_ cairn infra status
tell "The spare key hangs behind the fuse box."
do_ cairn chat "Where does the spare key hang?"
do_ cairn doctor
expect 0 cairn infra up --yes

day Tuesday: things break
do_ docker stop week-ada
expect 1 cairn infra status
do_ cairn chat --session tuesday "Where does the spare key hang?"
do_ cairn infra up --yes
tell "The heating is serviced in May."
do_ docker rm --force week-postgres
expect 1 cairn infra status
do_ cairn infra preview
do_ cairn infra up --yes
do_ docker rm --force week-ada week-bob
do_ cairn infra up --yes
do_ cairn infra status
all_there

day Wednesday: a setting, an image
set_ max_tool_iterations 40
do_ cairn infra preview
do_ cairn infra up --roll --yes
do_ cairn build --base-image "$BASE_IMAGE" --tag week:2 --package less
do_ cairn infra up --roll --image week:2 --yes
tell "The tax office wants the form in March."
all_there

day Thursday: one node more, one with another name, one less
sed -i 's/^      port: 7442/&\n    - name: cleo\n      port: 7443/' cairn.yaml
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
tell "The bicycle is lent to Nora."
all_there

day Saturday: back up, and lose the passphrase
do_ cairn memory backup saturday.backup
do_ mv infra/.passphrase passphrase.lost
expect 1 cairn infra up --yes
do_ cairn infra recover --confirm week
do_ cairn infra status
all_there

day Sunday: away with it, and back
do_ cairn infra destroy --yes
do_ cairn infra up --yes
all_there
do_ cairn infra destroy --delete-data --confirm week
do_ cairn infra up --yes
do_ cairn memory restore "$(ls -t backups/week-*.backup | head -n 1)"
all_there
do_ cairn doctor
do_ cairn infra destroy --delete-data --confirm week
do_ docker volume rm week-postgres-data week-cleo-home week-cleo-workspace

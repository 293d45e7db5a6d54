#!/usr/bin/env bash
# A week of an operator with two nodes and a PostgreSQL on Docker: deploy, use, break, change, upgrade, scale, back up, lose
# the passphrase, recover, destroy, deploy again. Stops at the first command that does not do what it should; docker.txt is
# what it printed.
#
#   ./docker.sh DIRECTORY        an empty directory; the stack in it is called week, and goes at the end
#
# CAIRN: the command. BASE_IMAGE, POSTGRES_IMAGE, NEXT_POSTGRES_IMAGE: images other than the defaults.

. "$(dirname "$0")/common.sh"
BASE_IMAGE=${BASE_IMAGE:-node:24-trixie-slim}
POSTGRES_IMAGE=${POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg17-trixie}
NEXT_POSTGRES_IMAGE=${NEXT_POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg18-trixie}
cd "${1:?a directory for the deployment}"

day Monday: deploy, and talk
write_configuration "\
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
    image: $POSTGRES_IMAGE"
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

lose_the_passphrase
destroy_and_return
do_ docker volume rm week-cleo-home week-cleo-workspace

#!/usr/bin/env bash
# Three nodes and a PostgreSQL on Docker go to another image while somebody talks to each of them: all of it goes well, an image
# does not start, and the command is killed in the middle. Stops at the first command that does not do what it should, and where a
# message was lost; upgrade.txt is what it printed.
#
#   ./upgrade.sh DIRECTORY       an empty directory; the stack in it is called rolling, and goes at the end
#
# CAIRN: the command. BASE_IMAGE, POSTGRES_IMAGE: images other than the defaults. Needs curl.

. "$(dirname "$0")/../week/common.sh"
BASE_IMAGE=${BASE_IMAGE:-node:24-trixie-slim}
POSTGRES_IMAGE=${POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg17-trixie}
cd "${1:?a directory for the deployment}"
PORTS=(7451 7452 7453)

# Sends message after message to one node. One that is not answered is sent again under its key, to the next node: it is the same
# message then, and has one answer.
talk() { # talk FIRST
  local first=$1 number=0 at
  while [ -e talking ]; do
    number=$((number + 1))
    echo . >>"sent.$first"
    for ((at = first; ; at++)); do
      if curl --silent --fail --max-time 60 --output /dev/null "http://127.0.0.1:${PORTS[at % 3]}/api/agents/main/messages" \
        --header "Authorization: Bearer $TOKEN" --header "Idempotency-Key: $first-$number" \
        --json "{\"session\": \"talk $first\", \"text\": \"Message $number of $first\"}"; then
        echo . >>"answered.$first"
        break
      fi
      sleep 0.2
    done
    sleep 0.1
  done
}
begin_talking() {
  touch talking
  rm -f sent.* answered.*
  for first in 0 1 2; do talk "$first" & done
}
all_answered() {
  rm talking
  wait
  local sent answered
  sent=$(cat sent.* | wc -l)
  answered=$(cat answered.* | wc -l)
  printf '\n(%s messages were sent meanwhile, %s were answered)\n' "$sent" "$answered"
  [ "$sent" = "$answered" ]
}

day Three nodes that share a database
cat >cairn.yaml <<YAML
version: 1
agents:
  main: {}
providers:
  offline: {}
memory:
  postgres: {}
deployment:
  name: rolling
  target: docker
  nodes:
    - name: ada
      port: ${PORTS[0]}
    - name: bob
      port: ${PORTS[1]}
    - name: cleo
      port: ${PORTS[2]}
  docker:
    network: rolling
  datahub:
    postgres: true
    image: $POSTGRES_IMAGE
YAML
umask 077
TOKEN=cairn_$(head -c 40 /dev/urandom | base64 -w 0 | tr -d '+/=')
printf 'SERVICE_API_TOKEN=%s\n' "$TOKEN" >.env
do_ cairn build --base-image "$BASE_IMAGE" --tag rolling:1
do_ cairn infra up --yes
do_ cairn mesh list
tell "The boat is called Albatross."
tell "The boat lies in Hamburg."

day Another image: what would be done
do_ cairn build --base-image "$BASE_IMAGE" --tag rolling:2 --package less
do_ cairn update --mesh --dry-run --prebuilt rolling:2

day It is done while somebody talks to each node
begin_talking
do_ cairn update --mesh --prebuilt rolling:2
all_answered
do_ cairn mesh list
do_ cairn infra preview

day An image that does not start
printf 'FROM rolling:2\nENV NODE_OPTIONS=--import=data:text/javascript,process.exit(1)\n' >broken.Dockerfile
do_ docker build --quiet --tag rolling:broken --file broken.Dockerfile .
begin_talking
expect 1 cairn update --mesh --prebuilt rolling:broken
all_answered
do_ cairn infra status

day The command is killed, and goes on
begin_talking
printf '\n$ cairn update --mesh --prebuilt rolling:1 & sleep 30; kill -9 $!\n'
setsid $CAIRN update --mesh --prebuilt rolling:1 </dev/null >/dev/null 2>&1 &
killed=$!
sleep 30
{ kill -KILL -- "-$killed" && wait "$killed"; } 2>/dev/null || true
do_ cairn update --mesh --resume
all_answered
do_ cairn update --mesh --history
all_there
do_ cairn infra destroy --delete-data --confirm rolling

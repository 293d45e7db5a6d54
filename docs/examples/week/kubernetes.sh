#!/usr/bin/env bash
# A week of an operator with two nodes and a PostgreSQL on Kubernetes: deploy, use, break, change, upgrade, scale, back up, lose
# the passphrase, recover, destroy, deploy again. Stops at the first command that does not do what it should; kubernetes.txt is
# what it printed.
#
#   ./kubernetes.sh DIRECTORY    an empty directory; the stack and its namespace are called week, and go at the end
#
# CAIRN: the command. KUBECONFIG: the cluster, by its current context. LOAD_IMAGE: what brings an image of this machine's Docker
# to the cluster's machines, such as "kind load docker-image". BASE_IMAGE, POSTGRES_IMAGE, NEXT_POSTGRES_IMAGE: images other
# than the defaults, the last of the next major.

. "$(dirname "$0")/common.sh"
KUBECONFIG=${KUBECONFIG:-$HOME/.kube/config}
LOAD_IMAGE=${LOAD_IMAGE:-kind load docker-image}
BASE_IMAGE=${BASE_IMAGE:-node:24-trixie-slim}
POSTGRES_IMAGE=${POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg17-trixie}
NEXT_POSTGRES_IMAGE=${NEXT_POSTGRES_IMAGE:-pgvector/pgvector:0.8.1-pg18-trixie}
cd "${1:?a directory for the deployment}"

kubectl() { command kubectl --kubeconfig="$KUBECONFIG" --namespace=week "$@"; }
load() { command $LOAD_IMAGE "$@"; }

day Monday: deploy, and talk
write_configuration "\
  target: kubernetes
  nodes:
    - name: ada
    - name: bob
  kubernetes:
    kubeconfig: $KUBECONFIG
    context: $(kubectl config current-context)
    namespace: week
    storage_size: 64Mi
    database_size: 256Mi
    requests:
      memory: 128Mi
      cpus: 0.05
  datahub:
    postgres: true
    image: $POSTGRES_IMAGE"
do_ cairn doctor --fix --only workspace --yes
do_ cairn build --base-image "$BASE_IMAGE" --tag week-kubernetes:1
do_ load week-kubernetes:1
do_ cairn infra preview
do_ cairn infra up --yes
do_ cairn infra status
tell "The spare key hangs behind the fuse box."
do_ cairn chat "Where does the spare key hang?"
do_ cairn doctor
do_ cairn infra up --yes
do_ kubectl get pods,services,persistentvolumeclaims,poddisruptionbudgets

day Tuesday: things break
do_ kubectl delete pod week-ada-0
do_ cairn chat --session tuesday "Where does the spare key hang?"
do_ cairn infra up --yes
do_ kubectl delete statefulset week-ada
expect 1 cairn infra status
do_ cairn chat --session tuesday "Where does the spare key hang?"
do_ cairn infra up --yes
tell "The heating is serviced in May."
do_ kubectl delete statefulset week-postgres
expect 1 cairn infra status
do_ cairn infra preview
do_ cairn infra up --yes
do_ kubectl delete service week-postgres week-ada week-bob
expect 1 cairn infra status
do_ cairn infra up --yes
do_ kubectl delete networkpolicies --all
do_ kubectl delete configmaps,secrets --selector=app.kubernetes.io/instance=week
do_ cairn infra up --yes
do_ kubectl scale statefulset week-bob --replicas=0
do_ cairn infra up --yes
do_ cairn infra status
all_there

day Wednesday: a setting, an image
set_ max_tool_iterations 40
do_ cairn infra preview
do_ cairn infra up --roll --yes
do_ cairn build --base-image "$BASE_IMAGE" --tag week-kubernetes:2 --package less
do_ load week-kubernetes:2
do_ cairn infra up --roll --image week-kubernetes:2 --yes
tell "The tax office wants the form in March."
all_there

day Thursday: one node more, with another name, and one less
sed -i 's/^    - name: bob/&\n    - name: cleo/' cairn.yaml
do_ cairn infra up --yes
do_ cairn infra status
do_ cairn infra node rename cleo dora --yes
do_ cairn infra node remove dora --data archive --confirm dora
do_ cairn infra up --yes
do_ cairn infra status
all_there

day Friday: the next PostgreSQL
do_ cairn infra postgres upgrade --to "$NEXT_POSTGRES_IMAGE" --yes
do_ cairn infra up --yes
do_ cairn logs --node ada --lines 5
do_ cairn exec --node ada -- node --version
do_ cairn exec --postgres -- postgres --version
tell "The bicycle is lent to Nora."
all_there

lose_the_passphrase
destroy_and_return
do_ kubectl delete namespace week

// What holds the namespaces of a pod: it waits to be stopped. Kubernetes' own one is written in C and comes as an image alone.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
}

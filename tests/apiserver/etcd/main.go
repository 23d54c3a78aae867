// Command etcd is the server of go.etcd.io/etcd/server/v3, without the flags of its own release build.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}

//go:build tools

// Package bed names the program that the test bed builds.
package bed

import _ "go.etcd.io/etcd/server/v3/etcdmain"

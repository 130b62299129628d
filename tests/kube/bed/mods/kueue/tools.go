//go:build tools

// Package bed names the program that the test bed builds.
package bed

import _ "sigs.k8s.io/kueue/cmd/kueue"
